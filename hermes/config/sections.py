"""The sections of hermes.yaml, each its own model, so that a part of Hermes gets only what concerns it."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, ValidationInfo, model_validator

from hermes.config.document import Document, Substituted
from hermes.config.validation import InvalidPart, Section
from hermes.config.yaml_file import plain_value

_MIB = 1024 * 1024
_FRAME_MARGIN = 65536  # what a frame needs around the largest result
_address = re.compile(r"(?:\[([^\]]+)\]|([^\[\]:/\s]+)):([0-9]{1,5})").fullmatch


def _number_from_text(value: Any) -> Any:
    """Read a number that came from the environment; text that was written as text stays text."""
    number = plain_value(value) if isinstance(value, Substituted) else value
    return value if isinstance(number, str) else number


def _split_bind(value: str) -> tuple[str, int]:
    found = _address(value)
    if found is None or int(found[3]) > 65535:
        raise ValueError("must be host:port, such as 127.0.0.1:8080 or [::1]:8080, with a port of 0 to 65535")
    if found[1]:
        try:
            ipaddress.IPv6Address(found[1])
        except ValueError:
            raise ValueError("must have an IPv6 address between the brackets") from None
    return found[1] or found[2], int(found[3])


def _bind(value: str) -> str:
    _split_bind(value)
    return value


def _folder(value: Any, info: ValidationInfo) -> Any:
    return _path(value, info, what="folder")


def _file(value: Any, info: ValidationInfo) -> Any:
    return _path(value, info, what="file")


def _path(value: Any, info: ValidationInfo, *, what: str) -> Any:
    if isinstance(value, Path):
        return _base_dir(info.context) / value
    if not isinstance(value, str) or not value:
        raise ValueError(f"must be the path of a {what}")
    if value.startswith("~"):
        raise ValueError("must not begin with ~; write ${HOME}")
    if "\0" in value:
        raise ValueError("must not hold a NUL character")
    return _base_dir(info.context) / value


def _base_dir(document: Document | None) -> Path:
    """The folder of hermes.yaml, which relative paths start from; the current one without a file."""
    return Path(document.file).absolute().parent if document and document.file else Path.cwd()


def _redis_url(value: str) -> str:
    if not value.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("must begin with redis://, rediss:// or unix://")
    return value


def _distinct(value: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(value)) != len(value):
        raise ValueError("must not name anything twice")
    return value


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _off(value: Any) -> Any:
    return "off" if value is False else value  # to YAML the plain word is a boolean


def _empty_mapping(value: Any) -> Any:
    return {} if value is None else value


_Options = Annotated[dict[str, Any], BeforeValidator(_empty_mapping)]
Number = Annotated[float, BeforeValidator(_number_from_text)]
Positive = Annotated[Number, Field(gt=0)]
Share = Annotated[Number, Field(ge=0, le=1)]
Count = Annotated[int, BeforeValidator(_number_from_text), Field(ge=1)]
Folder = Annotated[Path, BeforeValidator(_folder), Field(validate_default=True)]
File = Annotated[Path, BeforeValidator(_file), Field(validate_default=True)]


class HermesSection(Section):
    """`hermes:` where the daemon listens, what it reads and where it keeps things. `default_timeout` is in
    seconds; port 0 takes a free one.
    """

    bind: Annotated[str, AfterValidator(_bind)] = "127.0.0.1:8080"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    plugins_dir: Folder = Path("plugins")
    default_timeout: Positive = 60.0
    redis_url: Annotated[str, AfterValidator(_redis_url)] | None = None
    state_dir: Folder = Path(".hermes")
    locale: Literal["auto", "zh", "en"] = "auto"

    @property
    def bind_host(self) -> str:
        """The host of `bind`, an IPv6 address without its brackets."""
        return _split_bind(self.bind)[0]

    @property
    def bind_port(self) -> int:
        """The port of `bind`; 0 stands for any free one."""
        return _split_bind(self.bind)[1]


class JournalSection(Section):
    """`journal:` what an accepted message survives: `full` power loss, `normal` the death of the process.

    What has ended is removed `max_age` seconds after it came, or before that while the journal is over `max_bytes`.
    """

    sync: Literal["full", "normal"] = "full"
    max_age: Positive = 30 * 86400.0
    max_bytes: Annotated[Count, Field(ge=_MIB)] = 10 * 1024 * _MIB


class SessionsSection(Section):
    """`sessions:` where the state of conversations is kept, and how much of one, in turns and tokens.

    `store` auto is redis with a `redis_url`, else sqlite; `key_prefix` begins every key in Redis.
    """

    later = frozenset({"max_parallel", "idle_reset", "compress"})

    store: Literal["auto", "memory", "sqlite", "redis"] = "auto"
    key_prefix: Annotated[str, Field(max_length=200)] = ""
    memory_window: Count = 6
    summary_every: Count = 10
    summary_max_tokens: Count = 200


class RouterSection(Section):
    """`router:` the thresholds of a decision, 0…1, and the strategies in their order; the router knows which
    strategies there are. `weights` is the file of learned weights, which is read if it is there; one that is named has to
    be there.
    """

    min_confidence: Share = 0.6
    clarify_threshold: Share = 0.8
    clarify_margin: Share = 0.1
    strategies: Annotated[
        tuple[str, ...], Field(min_length=1), BeforeValidator(_listed), AfterValidator(_distinct)
    ] = ("prefix", "keyword")
    weights: File = Path("router-weights.json")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.clarify_threshold < self.min_confidence:
            raise InvalidPart("must not be below min_confidence; raise it too", ("clarify_threshold",))
        return self


class CircuitBreakerSection(Section):
    """`circuit_breaker:` failures in a row that open it, and seconds until a probe."""

    failure_threshold: Count = 3
    cooldown_seconds: Positive = 30.0


class ReloadSection(Section):
    """`reload:` how changes of plugins are noticed: by events of the file system, by `polling`, or not at all (`off`).

    `auto` is events where the file system gives any. A change is acted on once nothing has been written for
    `debounce` seconds; every `sweep` seconds all is looked at anyway.
    """

    watch: Annotated[Literal["auto", "polling", "off"], BeforeValidator(_off)] = "auto"
    debounce: Annotated[Positive, Field(le=10)] = 0.2
    sweep: Positive = 30.0


class AuthSection(Section):
    """`auth:` None leaves the rule of the bind address; `none` lets everyone in."""

    later = frozenset({"keys_file", "jwt"})

    mode: Literal["none"] | None = None


class LimitsSection(Section):
    """`limits:` sizes in bytes, waits in seconds. `pending` and `pending_bytes` bound what was accepted and has
    not ended, `plugin_queue` what waits for one plugin; `hops` is how deep plugins may send for one another.
    `frame_bytes` is one line of the plugin wire and follows `result_bytes` unless it is given; `spare_workers` are
    Python processes in reserve.
    """

    result_bytes: Count = 16 * _MIB
    inline_bytes: Count = 64 * 1024
    body_bytes: Count = _MIB
    queue_wait: Positive = 3600.0
    shutdown_grace: Annotated[Number, Field(ge=0)] = 10.0
    spare_workers: Annotated[int, BeforeValidator(_number_from_text), Field(ge=0, le=16)] = 1
    plugin_queue: Count = 1000
    pending: Count = 10_000
    pending_bytes: Count = 256 * _MIB
    hops: Count = 8
    frame_bytes: Count = Field(default_factory=lambda limits: limits["result_bytes"] + _FRAME_MARGIN)

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.frame_bytes < self.result_bytes + _FRAME_MARGIN:
            raise InvalidPart(f"must be at least result_bytes + {_FRAME_MARGIN}", ("frame_bytes",))
        return self


class Config(Section):
    """The whole of hermes.yaml. `plugins` holds each plugin's own options, which its manifest checks."""

    later = frozenset({"logging", "models", "outbound", "schedules", "webhooks"})

    hermes: HermesSection = Field(default_factory=dict, validate_default=True)
    journal: JournalSection = JournalSection()
    sessions: SessionsSection = SessionsSection()
    router: RouterSection = Field(default_factory=dict, validate_default=True)
    circuit_breaker: CircuitBreakerSection = CircuitBreakerSection()
    reload: ReloadSection = ReloadSection()
    plugins: Annotated[dict[str, _Options], BeforeValidator(_empty_mapping)] = Field(default_factory=dict)
    auth: AuthSection = AuthSection()
    limits: LimitsSection = LimitsSection()

    _source: Document = PrivateAttr()
    _base_dir: Path = PrivateAttr()

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.sessions.store == "redis" and self.hermes.redis_url is None:
            raise InvalidPart("needs hermes.redis_url; set that too", ("sessions", "store"))
        return self

    def model_post_init(self, context: Document | None) -> None:
        """Keep the document that this was read from."""
        self._source = context or Document()
        self._base_dir = _base_dir(context)

    @property
    def store(self) -> str:
        """The kind of store that `sessions.store` stands for."""
        if self.sessions.store != "auto":
            return self.sessions.store
        return "redis" if self.hermes.redis_url else "sqlite"

    @property
    def source(self) -> Document:
        """The document that this was read from, for errors that are found later."""
        return self._source

    @property
    def path(self) -> Path | None:
        """The file, or None if all is default."""
        return Path(self._source.file) if self._source.file else None

    @property
    def base_dir(self) -> Path:
        """The absolute folder that relative paths start from."""
        return self._base_dir
