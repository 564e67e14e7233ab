"""How the machine is doing: load, memory, disks and uptime, from /proc and the standard library."""

import asyncio
import os
import shutil
from pathlib import Path

FIELDS = (
    "cpu_count",
    *("load_1m", "load_5m", "load_15m", "load_percent"),
    *("memory_total_bytes", "memory_available_bytes", "memory_used_percent"),
    *("disk_total_bytes", "disk_free_bytes", "disk_used_percent"),
    *("data_disk_total_bytes", "data_disk_free_bytes", "data_disk_used_percent"),
    "uptime_seconds",
)
MISSING = {"zh": "这台机器无法提供：{}", "en": "not available on this machine: {}"}
NAMES = {
    "zh": {"load": "负载", "memory": "内存", "disk": "根磁盘", "data_disk": "数据磁盘", "uptime": "运行时间"},
    "en": {"load": "load", "memory": "memory", "disk": "disk", "data_disk": "data disk", "uptime": "uptime"},
}


async def handle(message: dict, context: dict) -> dict:  # noqa: ARG001 - the question has no parameters
    """Return one flat object of FIELDS; what the machine does not tell is null and named in the warning."""
    proc = Path(context["config"].get("proc_dir", "/proc"))
    # A dead network mount can hold a disk query for minutes; in a thread it holds up this call alone.
    status, missing = await asyncio.to_thread(measure, proc, context["data_dir"])
    if not missing:
        return {"data": status, "error": None}
    names = ", ".join(NAMES[context["locale"]][part] for part in missing)
    return {"data": status, "error": None, "warning": MISSING[context["locale"]].format(names)}


def measure(proc: Path, data_dir: str) -> tuple[dict, list[str]]:
    """Return all figures, and the parts of them that could not be read."""
    parts = {
        "load": load,
        "memory": lambda: memory(proc),
        "disk": lambda: disk("disk", "/"),
        "data_disk": lambda: disk("data_disk", data_dir),
        "uptime": lambda: uptime(proc),
    }
    status = dict.fromkeys(FIELDS) | {"cpu_count": os.cpu_count()}
    missing = []
    for part, read in parts.items():
        try:
            status |= read()
        except (OSError, AttributeError, LookupError, ValueError):  # no such file, call, line or number here
            missing.append(part)
    return status, missing


def load() -> dict:
    """Return the load averages; `load_percent` is the last minute's share of all processors, 100 and more if busy."""
    one, five, fifteen = os.getloadavg()
    return {
        "load_1m": round(one, 2),
        "load_5m": round(five, 2),
        "load_15m": round(fifteen, 2),
        "load_percent": percent(one, os.cpu_count() or 1),
    }


def memory(proc: Path) -> dict:
    """Return the machine's memory; "available" is what a new program could have without swapping."""
    lines = (proc / "meminfo").read_text().splitlines()
    kibibytes = {name: value.split()[0] for name, _, value in (line.partition(":") for line in lines)}
    total, available = (int(kibibytes[name]) * 1024 for name in ("MemTotal", "MemAvailable"))
    return {
        "memory_total_bytes": total,
        "memory_available_bytes": available,
        "memory_used_percent": percent(total - available, total),
    }


def disk(name: str, path: str) -> dict:
    """Return the space of the file system that `path` lies on; free is what an ordinary user may still fill."""
    usage = shutil.disk_usage(path)
    return {
        f"{name}_total_bytes": usage.total,
        f"{name}_free_bytes": usage.free,
        f"{name}_used_percent": percent(usage.used, usage.used + usage.free),
    }


def uptime(proc: Path) -> dict:
    """Return the whole seconds since the machine started."""
    return {"uptime_seconds": int(float((proc / "uptime").read_text().split()[0]))}


def percent(part: float, whole: float) -> float:
    """Return what share of `whole` `part` is, to one decimal; of nothing it is 0."""
    return round(100 * part / whole, 1) if whole else 0.0
