"""Starts a pipeline of a GitLab project: one, however often the message is tried."""

import json
from pathlib import Path

from hermes.sdk import OutcomeUnknown

from .gitlab import Failure, project_path
from .run import PipelineRun

TEXT = json.loads(Path(__file__).with_name("sentences.json").read_text("utf-8"))


async def handle(message: dict, context: dict) -> dict:
    """Run the pipeline of `project` on `ref` with `variables`; return its id, web_url, status, sha, project and ref."""
    payload, text = message["payload"], TEXT[context["locale"]]
    project = project_path(payload["project"], context["config"].get("namespace"))
    try:
        run = PipelineRun(project, payload, context=context, text=text)
        data = await context["once"]("pipeline", run.create, lookup=run.find)
    except Failure as failure:
        sentence = text[failure.text].format(project=project, ref=payload["ref"], **failure.facts)
        return failed(failure.code, sentence, retryable=failure.retryable)
    except OutcomeUnknown as doubt:
        return failed("upstream_unavailable", str(doubt), retryable=True) | {"warning": text["may_run"]}
    return {"data": data, "error": None}


def failed(code: str, sentence: str, *, retryable: bool) -> dict:
    """Return an envelope with an error."""
    return {"data": None, "error": {"code": code, "message": sentence, "retryable": retryable}}
