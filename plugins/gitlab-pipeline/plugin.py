"""The last pipeline of a GitLab project, and the job that broke it, through GitLab's REST API."""

import asyncio
import http.client
import json
import time
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

ANSWER_BYTES = 8 << 20
REQUEST_SECONDS = 10.0
MARGIN_SECONDS = 0.5  # left of the call's own time to tell the caller what went wrong

TEXT = {
    "zh": {
        "asking": "正在查询 {project} 的流水线",
        "jobs": "流水线 {pipeline} 失败了，正在找出失败的任务",
        "no_url": "还没有配置 GitLab：请在 hermes.yaml 设置 plugins.gitlab-pipeline.base_url（和 token）",
        "bad_url": "plugins.gitlab-pipeline.base_url 应是 http:// 或 https:// 开头、不含账号的地址",
        "bad_token": "plugins.gitlab-pipeline.token 含有空格或不能使用的字符",
        "no_project": "GitLab 上没有项目 {project}，或者当前令牌看不到它",
        "no_pipeline": "项目 {project} 还没有流水线",
        "no_pipeline_on": "项目 {project} 的 {ref} 还没有流水线",
        "unauthorized": "GitLab 不接受当前令牌：请检查 plugins.gitlab-pipeline.token",
        "forbidden": "GitLab 不允许查看项目 {project} 的流水线：权限不足，或该项目没有启用 CI/CD",
        "elsewhere": "GitLab 要求转到别的地址，为保护令牌没有跟随：请检查 plugins.gitlab-pipeline.base_url",
        "status": "GitLab 返回了 HTTP {status}",
        "unreachable": "连不上 GitLab，或者它没有及时完整地回答",
        "not_gitlab": "这个地址的回答不是 GitLab API 的格式：请检查 plugins.gitlab-pipeline.base_url",
    },
    "en": {
        "asking": "Looking up the pipeline of {project}",
        "jobs": "Pipeline {pipeline} failed; looking for the job that broke it",
        "no_url": "GitLab is not configured: set plugins.gitlab-pipeline.base_url (and token) in hermes.yaml",
        "bad_url": "plugins.gitlab-pipeline.base_url must be an http:// or https:// address without a user name",
        "bad_token": "plugins.gitlab-pipeline.token holds a space or a character that a token cannot have",
        "no_project": "GitLab has no project {project}, or this token may not see it",
        "no_pipeline": "Project {project} has no pipeline yet",
        "no_pipeline_on": "Project {project} has no pipeline on {ref} yet",
        "unauthorized": "GitLab did not accept the token: check plugins.gitlab-pipeline.token",
        "forbidden": "GitLab does not show the pipelines of {project}: no permission, or CI/CD is off there",
        "elsewhere": "GitLab redirects to another address, which would see the token: "
        "check plugins.gitlab-pipeline.base_url",
        "status": "GitLab answered HTTP {status}",
        "unreachable": "GitLab cannot be reached or gave no whole answer in time",
        "not_gitlab": "The answer is not that of a GitLab API: check plugins.gitlab-pipeline.base_url",
    },
}


class Failure(Exception):
    """Ends the call with an error: a code of the envelope, and the name of a sentence in TEXT."""

    def __init__(self, code: str, text: str, *, retryable: bool = False, **facts: object) -> None:
        super().__init__(text)
        self.code, self.text, self.retryable, self.facts = code, text, retryable, facts


async def handle(message: dict, context: dict) -> dict:
    """Return the last pipeline of `project` (a path or number), on `ref` if given; durations are in seconds."""
    payload, text = message["payload"], TEXT[context["locale"]]
    project = full_path(payload["project"], context["config"].get("namespace"))
    try:
        data = await last_pipeline(project, payload.get("ref"), context=context)
    except Failure as failure:
        sentence = text[failure.text].format(project=project, ref=payload.get("ref"), **failure.facts)
        error = {"code": failure.code, "message": sentence, "retryable": failure.retryable}
        return {"data": None, "error": error}
    return {"data": data, "error": None}


def full_path(project: str, namespace: str | None) -> str:
    """Return the path GitLab knows a project by: a bare name lies in the configured namespace."""
    project = project.strip("/")
    bare = "/" not in project and not project.isdigit()
    return f"{namespace.strip('/')}/{project}" if namespace and bare else project


async def last_pipeline(project: str, ref: str | None, *, context: dict) -> dict:
    """Return the newest pipeline with the four facts people ask for first."""
    gitlab, text = GitLab(project, context), TEXT[context["locale"]]
    await context["progress"](text["asking"].format(project=project))
    # GitLab's own "latest" answers 403 both for "no pipeline" and for "no permission"; the list tells them apart.
    newest = await gitlab.get(list, "/pipelines", per_page=1, **({"ref": ref} if ref else {}))
    if not newest:
        raise Failure("not_found", "no_pipeline_on" if ref else "no_pipeline")
    pipeline = await gitlab.get(dict, f"/pipelines/{newest[0].get('id')}")
    failed_jobs = []
    if pipeline.get("status") == "failed":
        await context["progress"](text["jobs"].format(pipeline=pipeline.get("id")))
        path = f"/pipelines/{pipeline.get('id')}/jobs"
        failed_jobs = await gitlab.get(list, path, **{"scope[]": "failed", "per_page": 100})
    return {
        "pipeline_id": pipeline.get("id"),
        "status": pipeline.get("status"),
        "failed_job_name": first_broken(failed_jobs),
        "duration": pipeline.get("duration"),
        "project": project,
        "pipeline": pipeline,
    }


def first_broken(jobs: list[dict]) -> str | None:
    """Return the name of the oldest failed job that was not allowed to fail."""
    broken = [job for job in jobs if not job.get("allow_failure")]
    return min(broken, key=lambda job: job.get("id", 0)).get("name") if broken else None


class GitLab:
    """GitLab's REST API, version 4, of one project, for the length of one call."""

    def __init__(self, project: str, context: dict) -> None:
        config, secrets = context["config"], context["secrets"]
        base = config.get("base_url") or secrets.get("GITLAB_URL") or ""
        token = config.get("token") or secrets.get("GITLAB_TOKEN") or ""
        self._url = f"{checked_base(base)}/api/v4/projects/{quote(project, safe='')}"
        self._headers = {"PRIVATE-TOKEN": checked_token(token.strip())} if token else {}
        self._deadline = context["deadline"] or time.time() + REQUEST_SECONDS
        self._log = context["log"]
        self._opener = build_opener(SameHost)

    async def get(self, kind: type, path: str, **query: object) -> list | dict:
        """Return the JSON found at `path`, an object or a list of objects as `kind` says."""
        seconds = min(REQUEST_SECONDS, self._deadline - time.time() - MARGIN_SECONDS)
        if seconds <= 0:
            raise Failure("upstream_unavailable", "unreachable", retryable=True)
        url = f"{self._url}{path}?{urlencode(query)}" if query else self._url + path
        try:
            body = await asyncio.wait_for(asyncio.to_thread(self._read, url, seconds), seconds)
        except HTTPError as error:
            error.close()
            self._log.warning("GitLab answered %s", error.code)
            raise refusal(error.code) from None
        except (OSError, ValueError, http.client.HTTPException) as error:  # unknown, shut, slow, broken off
            self._log.warning("GitLab could not be asked: %s", type(error).__name__)
            raise Failure("upstream_unavailable", "unreachable", retryable=True) from None
        return parsed(body, kind)

    def _read(self, url: str, seconds: float) -> bytes:
        request = Request(url, headers=self._headers)  # noqa: S310 - the scheme has been checked
        with self._opener.open(request, timeout=seconds) as response:
            body = response.read(ANSWER_BYTES)
            if response.length:  # the rest of an answer that was cut off, or is far too long
                raise http.client.IncompleteRead(body)
            return body


class SameHost(HTTPRedirectHandler):
    """Follows a redirect (GitLab sends one for a moved project) only where the token may be seen."""

    def redirect_request(self, request: Request, *details) -> Request | None:
        """Return the request to make instead, or None to leave the redirect as the answer."""
        new_url = details[-1]
        if urlsplit(new_url)[:2] != urlsplit(request.full_url)[:2]:
            return None
        return super().redirect_request(request, *details)


def checked_base(base: str) -> str:
    """Return the address of GitLab without a slash at its end."""
    if not base:
        raise Failure("not_configured", "no_url")
    try:
        parts = urlsplit(base)
    except ValueError:
        raise Failure("not_configured", "bad_url") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        raise Failure("not_configured", "bad_url")
    return base.rstrip("/")


def checked_token(token: str) -> str:
    """Return the token; one that is no header value would come back to the caller inside an exception."""
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise Failure("not_configured", "bad_token")
    return token


def refusal(status: int) -> Failure:
    """Return what a status of GitLab means for the caller."""
    known = {
        401: Failure("upstream_denied", "unauthorized"),
        403: Failure("upstream_denied", "forbidden"),
        404: Failure("not_found", "no_project"),
    }
    if status in known:
        return known[status]
    if 300 <= status < 400:
        return Failure("upstream_denied", "elsewhere")
    return Failure("upstream_unavailable", "status", retryable=status == 429 or status >= 500, status=status)


def parsed(body: bytes, kind: type) -> list | dict:
    """Return the JSON in `body` if it has the shape of GitLab's answers."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    items = answer if kind is list else [answer]
    if not isinstance(answer, kind) or not all(isinstance(item, dict) for item in items):
        raise Failure("upstream_unavailable", "not_gitlab")
    return answer
