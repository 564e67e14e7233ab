"""The one pipeline of a message: made once, and found again by the variable that it was made with."""

import asyncio
import contextlib
import hashlib
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlencode

from hermes.sdk import NotDone, OutcomeUnknown

from .gitlab import REQUEST_SECONDS, Failure, GitLab, NoAnswer, api_path, refusal

MARK = "HERMES_KEY"
"""The variable that every pipeline of this plugin has; its value is made from the message's idempotency key."""

SETTLE_SECONDS = 90.0  # it may take 20 to connect, and GitLab gives up what it was asked for after 60 more
CLOCK_SECONDS = 86_400  # by which GitLab's clock may be behind
PAGE, PAGES = 100, 5  # the most that GitLab lists at once, and how often it is asked for more
PAUSE_SECONDS = 2.0
MARGIN_SECONDS = 0.5  # left of the call's own time to tell the caller what went wrong


class PipelineRun:
    """Makes the pipeline of one message, or finds out whether an earlier attempt has."""

    def __init__(self, project: str, payload: dict, *, context: dict, text: dict) -> None:
        self._gitlab = GitLab(context["config"], context["secrets"])
        self._project, self._ref = project, payload["ref"]
        self._context, self._text = context, text
        self._key = hashlib.sha256(context["idempotency_key"].encode()).hexdigest()[:32]
        self._variables = (payload.get("variables") or {}) | {MARK: self._key}
        self._sent = Path(context["data_dir"]) / f"sent-{self._key}.json"
        self._others: set[object] = set()  # pipelines that are known not to be the one

    async def create(self) -> dict:
        """Make it; raise Failure if certainly none was made, OutcomeUnknown if that is in doubt."""
        await self._tell("creating")
        if self._seconds_left() <= 0:
            raise Failure("upstream_unavailable", "no_time", retryable=True)
        variables = [{"key": key, "value": value} for key, value in self._variables.items()]
        body = {"ref": self._ref, "variables": variables}
        now = time.time()
        self._note(now, since=now)
        try:
            status, answer = await self._gitlab.ask(
                "POST", f"{api_path(self._project)}/pipeline", body=body, seconds=self._seconds_left()
            )
        except Failure:
            self._forget()
            raise
        except NoAnswer as reason:
            self._context["log"].warning("GitLab gave no answer: %s", reason)
            raise OutcomeUnknown(self._text["unknown"]) from None
        if status in (200, 201) and (found := self._found(answer)):
            self._forget()
            return found
        self._context["log"].warning("GitLab answered %s", status)
        if 300 <= status < 500 and status != 408:
            self._forget()
            raise refusal(status, answer)
        raise OutcomeUnknown(self._text["unknown"])

    async def find(self) -> dict:
        """Return the pipeline that an earlier attempt made; raise NotDone only if none can come any more.

        What was asked for may be made long after whoever asked has given up waiting.
        """
        await self._tell("looking")
        sent, since = self._noted()
        settles = sent + self._context["config"].get("settle_seconds", SETTLE_SECONDS)
        user = await self._user()
        while True:
            settled = time.time() >= settles
            if (found := await self._search(user, since=since)) is not None:
                self._forget()
                return found
            if settled:
                self._forget()
                await self._tell("absent")
                raise NotDone
            pause = min(PAUSE_SECONDS, max(settles - time.time(), 0.05))
            if self._seconds_left() <= pause:
                raise OutcomeUnknown(self._text["too_soon"])
            await asyncio.sleep(pause)

    async def _search(self, user: str, *, since: float) -> dict | None:
        """Look through the pipelines that were made with this token; only their variables tell them apart."""
        # Not by `ref`: GitLab may call it otherwise than the message did.
        query = {
            "source": "api",
            "username": user,
            "updated_after": datetime.fromtimestamp(since - CLOCK_SECONDS, UTC).isoformat(timespec="seconds"),
            "order_by": "id",
            "sort": "desc",
            "per_page": PAGE,
        }
        for page in range(1, PAGES + 1):
            where = f"{api_path(self._project)}/pipelines?{urlencode(query | {'page': page})}"
            pipelines = await self._get(where, list)
            for pipeline in pipelines:
                if await self._is_mine(pipeline):
                    return self._found(pipeline)
            if len(pipelines) < PAGE:
                return None
        return self._give_up(f"more than {PAGES * PAGE} pipelines")

    async def _is_mine(self, pipeline: object) -> bool:
        if self._found(pipeline) is None:
            self._give_up("a list of something else")
        number = pipeline["id"]
        if number in self._others:
            return False
        variables = await self._get(f"{api_path(self._project)}/pipelines/{number}/variables", list)
        told = [(each.get("key"), each.get("value")) for each in variables if isinstance(each, dict)]
        if (MARK, self._key) in told:
            return True
        self._others.add(number)
        return False

    async def _user(self) -> str:
        user = (await self._get("/user", dict)).get("username")
        return user if isinstance(user, str) and user else self._give_up("no user name")

    async def _get(self, path: str, kind: type) -> list | dict:
        if self._seconds_left() <= 0:
            raise OutcomeUnknown(self._text["too_soon"])
        try:
            status, answer = await self._gitlab.ask(
                "GET", path, seconds=min(REQUEST_SECONDS, self._seconds_left())
            )
        except (Failure, NoAnswer) as reason:
            self._give_up(str(reason))
        if status != 200 or not isinstance(answer, kind):
            self._give_up(f"{status} to a search")
        return answer

    def _give_up(self, reason: str) -> NoReturn:
        self._context["log"].warning("GitLab cannot be asked for an earlier pipeline: %s", reason)
        raise OutcomeUnknown(self._text["cannot_look"]) from None

    def _found(self, pipeline: object) -> dict | None:
        if not isinstance(pipeline, dict) or not isinstance(pipeline.get("id"), int):
            return None
        told = {name: pipeline.get(name) for name in ("id", "web_url", "status", "sha")}
        return told | {"project": self._project, "ref": self._ref}

    def _note(self, sent: float, *, since: float) -> None:
        self._sent.write_text(json.dumps({"sent": sent, "since": since}))

    def _noted(self) -> tuple[float, float]:
        """Return when the request was sent and since when to look for what came of it, in Unix seconds.

        Where that is not known any more it counts as sent now, and to be looked for among all there are.
        """
        now = time.time()
        try:
            noted = json.loads(self._sent.read_text())
            sent, since = float(noted["sent"]), float(noted["since"])
        except (OSError, ValueError, TypeError, KeyError):
            sent, since = now, CLOCK_SECONDS
            self._note(sent, since=since)
        return min(sent, now), min(since, now)

    def _forget(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._sent.unlink()

    async def _tell(self, name: str) -> None:
        await self._context["progress"](self._text[name].format(project=self._project, ref=self._ref))

    def _seconds_left(self) -> float:
        deadline = self._context["deadline"]
        return REQUEST_SECONDS if deadline is None else deadline - time.time() - MARGIN_SECONDS
