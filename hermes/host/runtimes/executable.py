"""Runtime `executable`: any program, started anew for every call, that reads the message from stdin and prints the result."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from hermes.config.document import Document
from hermes.errors import ConfigError
from hermes.host.manifests.manifest_file import ManifestSection
from hermes.host.plugin import Plugin
from hermes.host.programs.command import Command, command_problems, surroundings
from hermes.host.programs.printed import value_of
from hermes.host.programs.program import Program
from hermes.host.programs.spoken import Portion, Spoken
from hermes.host.workers.exchange import Caller
from hermes.host.workers.failures import Crashed, Raised, ResultTooLarge
from hermes.host.workers.launch import bootstrapped, watched
from hermes.host.workers.task_worker import Log, TaskWorker
from hermes.host.workers.wire_worker import Launch
from hermes.host.workers.worker import Process, Worker
from hermes.host.workers.workshop import Workshop


class ExecutableOptions(ManifestSection):
    """What a manifest says beside the rest for a plugin that is a program."""

    command: Command
    """The program and its arguments. ./name is a file in the plugin's folder; a name without a slash is looked for on PATH."""


class ExecutableRuntime:
    """Starts a process for every call, and nothing before the first."""

    options = ExecutableOptions
    limits = frozenset({"memory_mb", "open_files", "processes", "cpu_seconds"})

    def problems(
        self, document: Document, options: ExecutableOptions, *, directory: Path
    ) -> list[ConfigError]:
        """Find a program that is not there or cannot be started."""
        return command_problems(document, options.command, directory=directory)

    async def start(self, plugin: Plugin, workshop: Workshop) -> Worker:
        """Return a worker as soon as its program is found."""
        programs = _Programs(plugin, workshop, environment=surroundings(plugin))
        return TaskWorker(programs, workshop.listener)


class _Programs:
    """Runs the calls of one worker, each in a process of its own."""

    def __init__(self, plugin: Plugin, workshop: Workshop, *, environment: dict[str, str]) -> None:
        self._plugin = plugin
        self._command = bootstrapped(plugin.manifest.options.command, plugin.manifest.limits)
        self._environment = environment | {
            "HERMES_DATA_DIR": str(plugin.data_dir),
            "HERMES_CONFIG": json.dumps(dict(plugin.config), ensure_ascii=False),
        }
        self._frame_bytes = workshop.frame_bytes
        self._custody = workshop.custody
        self._limits = watched(plugin.manifest.limits, memory=True)
        self._running: set[Program] = set()

    async def run(self, caller: Caller, params: dict[str, Any], /, *, log: Log) -> Any:
        """Run the program with one message, and return what it printed."""
        spoken = Spoken()

        def tell(portion: Portion) -> None:
            for text, percent in portion.progress:
                caller.on_progress(text, percent)
            for text in portion.logged:
                log(text)

        program = await self._begin(params, lambda data: tell(spoken.feed(data)))
        try:
            await program.ended.wait()
        except asyncio.CancelledError:
            await program.end()
            raise
        finally:
            self._running.discard(program)
        tell(spoken.finish())
        if spoken.left_out:
            log(f"{spoken.left_out} more lines on stderr were left out", level="warning")
        return self._result(program, spoken.last)

    def processes(self) -> list[Process]:
        """Return the processes that run now."""
        return [program.describe() for program in self._running]

    def kill(self, reason: str) -> None:
        """Kill the processes that run now."""
        for program in self._running:
            program.kill(reason)

    async def close(self) -> None:
        """Keep nothing: there is nothing between calls."""

    async def _begin(self, params: dict[str, Any], on_error: Callable[[bytes], None]) -> Program:
        """Start a process; if the caller is cancelled meanwhile it is seen through first."""
        launch = Launch(
            self._command,
            self._call_environment(params),
            self._plugin.directory,
            self._frame_bytes,
            custody=self._custody,
            limits=self._limits,
        )
        given = orjson.dumps(params["message"], option=orjson.OPT_APPEND_NEWLINE)
        async with self._turn():
            starting = asyncio.ensure_future(Program.start(launch, given, on_error=on_error))
            program = await self._started(starting)
        self._running.add(program)  # here a process begins …
        return program

    def _turn(self) -> contextlib.AbstractAsyncContextManager[None]:
        """Wait for a turn to start a process; who is cancelled meanwhile has started none."""
        return contextlib.nullcontext() if self._custody is None else self._custody.starts

    async def _started(self, starting: asyncio.Future[Program]) -> Program:
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError, ValueError):
                await (await starting).end()
            raise
        except (OSError, ValueError) as error:
            raise Raised(f"the program could not be started: {_reason(error)}") from error

    def _call_environment(self, params: dict[str, Any]) -> dict[str, str]:
        message, context = params["message"], params["context"]
        told = {
            "HERMES_REQUEST_ID": message.get("request_id"),
            "HERMES_SESSION_ID": message.get("session_id"),
            "HERMES_IDEMPOTENCY_KEY": context.get("idempotency_key"),
            "HERMES_LOCALE": context.get("locale"),
        }
        return self._environment | {name: str(value) for name, value in told.items() if value is not None}

    def _result(self, program: Program, last_error: str) -> Any:
        printed = bytes(program.output)
        program.output.clear()  # its transport holds the program, and what it printed, until that is collected
        if program.overflowed:
            raise ResultTooLarge(f"the program printed more than {self._frame_bytes} bytes")
        if program.code > 0:
            raise Raised(last_error or f"exit code {program.code}")
        if program.code < 0:
            why = program.killed_for
            seconds = self._plugin.manifest.limits.cpu_seconds
            if not why and seconds and -program.code == signal.SIGXCPU:
                why = f"used more than limits.cpu_seconds {seconds}"
            raise Crashed.of(program.code, why=why, last_error=last_error)
        return value_of(printed)


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


adapter = ExecutableRuntime
