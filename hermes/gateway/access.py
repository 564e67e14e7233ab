"""Who is calling, and whether they may: open on loopback, one admin key elsewhere."""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from hermes.auth.policy import Caller
from hermes.errors import Forbidden, StartError, Unauthorized
from hermes.gateway.head import Head
from hermes.messages import Principal

_KEY_BYTES = 32
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


Access = Callable[[Head], Caller]
"""Returns who is calling; raises Unauthorized or Forbidden."""


def open_access(bind_host: str) -> Access:
    """Let everybody in; on a loopback address only under a local name, which keeps foreign web pages out."""
    caller = Caller(Principal())
    names = _LOCAL_NAMES | {bind_host} if is_loopback(bind_host) else None

    def access(head: Head) -> Caller:
        if names is not None and _host_name(head.header(b"host")) not in names:
            raise Forbidden("this address is for local names only; call it as 127.0.0.1 or localhost")
        return caller

    return access


def key_access(key: str) -> Access:
    """Let in who shows the key."""
    expected = key.encode()
    caller = Caller(Principal("key", "admin"))

    def access(head: Head) -> Caller:
        if not hmac.compare_digest(_shown_key(head).encode(), expected):
            raise Unauthorized("send the admin key as Authorization: Bearer <key> or as X-API-Key")
        return caller

    return access


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def load_admin_key(file: Path) -> tuple[str, bool]:
    """Return the admin key in `file`, made there if there is none, and whether it is new."""
    try:
        if file.exists():
            return _existing_key(file), False
        key = secrets.token_urlsafe(_KEY_BYTES)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(key + "\n")
    except OSError as error:
        raise StartError(f"the admin key cannot be kept in {file}: {error.strerror}") from error
    return key, True


@lru_cache(maxsize=64)
def _host_name(header: str) -> str:
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()


def _existing_key(file: Path) -> str:
    key = file.read_text(encoding="ascii", errors="replace").strip()
    if len(key) < _KEY_BYTES:
        raise StartError(f"{file} holds no usable key; remove it and a new one is made")
    return key


def _shown_key(head: Head) -> str:
    scheme, _, key = head.header(b"authorization").partition(" ")
    if scheme.lower() == "bearer":
        return key.strip()
    return head.header(b"x-api-key")
