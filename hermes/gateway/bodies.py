"""The bodies and parameters that requests may have, checked at the wall: unknown members are refused by name."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from starlette.types import Receive

from hermes.dispatch.submission import Submission
from hermes.errors import InvalidField, Malformed, TooLarge, UnsupportedMediaType
from hermes.gateway.head import Head
from hermes.messages import ID_PATTERN
from hermes.strict_json import exceeds_64_bits

_M = TypeVar("_M", bound=BaseModel)
_Id = Annotated[str, StringConstraints(pattern=ID_PATTERN)]
_SHOWN_PROBLEMS = 10


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class MessageBody(_Body):
    """`POST /v1/messages`."""

    text: Annotated[str, StringConstraints(min_length=1)] | None = None
    intent: Annotated[str, StringConstraints(max_length=200)] | None = None
    payload: dict[str, Any] = Field(default_factory=dict)
    session_id: _Id | None = None
    request_id: _Id | None = None
    source: Literal["api", "im", "agent"] = "api"
    metadata: dict[str, Any] = Field(default_factory=dict)
    approve: bool = False
    retry_of: _Id | None = None

    @model_validator(mode="after")
    def _has_something_to_do(self) -> Self:
        if self.retry_of is not None:
            self._retries_only()
        elif self.text is None and not self.intent:
            raise InvalidField("text, intent or retry_of is needed", field="text")
        if self.text is not None and self.payload.get("text", self.text) != self.text:
            raise InvalidField("text and payload.text differ; give one of them", field="payload.text")
        return self

    def _retries_only(self) -> None:
        for name in ("text", "intent", "payload"):
            if name in self.model_fields_set:
                raise InvalidField(
                    "with retry_of it is that of the message to try again; leave it out", field=name
                )

    def to_submission(self, body: Mapping[str, Any]) -> Submission:
        """Return what the pipeline takes; `body` is the JSON as it was sent."""
        return Submission(
            text=self.text,
            intent=self.intent or None,
            payload=self.payload,
            received_at=time.time(),
            session_id=self.session_id,
            request_id=self.request_id,
            fingerprint=None if self.request_id is None else _fingerprint(body),
            source=self.source,
            metadata=self.metadata,
            approve=self.approve,
            retry_of=self.retry_of,
        )


class ConfirmBody(_Body):
    """`POST /v1/messages/{id}/confirm`."""

    approve: bool


class RouteBody(_Body):
    """`POST /v1/route`."""

    text: str


class MessageQuery(_Body):
    """The parameters of `GET /v1/messages`."""

    model_config = ConfigDict(extra="forbid", strict=False, frozen=True)

    session_id: str | None = None
    status: Literal["accepted", "awaiting_confirmation", "running", "succeeded", "failed"] | None = None
    code: str | None = None
    plugin: str | None = None
    limit: int = Field(50, ge=1, le=500)
    cursor: Annotated[int, Field(ge=1, lt=10**18)] | None = None


async def read_json(head: Head, receive: Receive, *, limit: int) -> dict[str, Any]:
    """Return the JSON object in a request's body.

    Raises:
        UnsupportedMediaType: it is not declared as JSON.
        TooLarge: it has more than `limit` bytes.
        Malformed: it is not a JSON object, or holds an integer beyond 64 bits.
    """
    media_type = head.header(b"content-type").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise UnsupportedMediaType("send JSON, with the header Content-Type: application/json")
    raw = await _read(head, receive, limit=limit)
    if exceeds_64_bits(raw):
        raise Malformed("the body holds an integer beyond 64 bits; send it as a string")
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Malformed(f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise Malformed("the body must be a JSON object")
    return body


async def _read(head: Head, receive: Receive, *, limit: int) -> bytes:
    declared = head.header(b"content-length")
    size = int(declared) if declared.isdecimal() and len(declared) < 19 else 0
    chunks: list[bytes] = []
    while size <= limit:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Malformed("the body ended before it was whole")
        chunks.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(chunks)
        size = max(size, sum(map(len, chunks)))
    raise TooLarge(f"the body is over the limit of {limit} bytes (limits.body_bytes)")


def check(model: type[_M], value: Any) -> _M:
    """Return `value` as `model`; raises InvalidField naming what is wrong."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        lines = [
            f"{_path(one['loc'])}: {_words(one['type'], one['msg'])}" for one in problems[:_SHOWN_PROBLEMS]
        ]
        raise InvalidField("; ".join(lines), field=_path(problems[0]["loc"])) from None


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "body"


def _words(kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return "there is no such field"
    if kind == "string_pattern_mismatch":
        return "may have 1 to 128 characters of A-Z a-z 0-9 . _ : ~ -"
    return message[:1].lower() + message[1:]


def _fingerprint(body: Mapping[str, Any]) -> bytes:
    try:
        canonical = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:  # nested more deeply than can be written
        raise InvalidField(f"it cannot be kept as JSON: {error}", field="payload") from None
    return hashlib.sha256(canonical).digest()
