"""Says back what it was told: the smallest plugin, and with `steps` a demonstration of streamed progress."""

import asyncio

STEP = {"zh": "正在复述", "en": "echoing"}


async def handle(message: dict, context: dict) -> dict:
    """Return the payload; on the way, `steps` lines of progress, `delay` seconds apart."""
    payload = message["payload"]
    steps = payload.get("steps", 0)
    for step in range(1, steps + 1):
        await context["progress"](f"{STEP[context['locale']]} {step}/{steps}", 100 * step / steps)
        await asyncio.sleep(payload.get("delay", 0.2))
    return {"data": payload, "error": None}
