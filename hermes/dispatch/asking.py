"""Puts what Hermes asks back, and that it cannot tell, into words and envelopes. It decides and remembers nothing."""

from __future__ import annotations

import difflib
import time
from collections.abc import Sequence
from typing import Any

from hermes.dispatch.live import Live
from hermes.dispatch.outcomes import failed
from hermes.dispatch.sentences import Locale, joined, say
from hermes.host.host import Host, Target
from hermes.host.manifests.misfits import description, options
from hermes.host.manifests.parameters import Problem
from hermes.messages import Candidate, ResultEnvelope

ANSWER_WITHIN = 600.0  # seconds a question stays open
_LABEL = 200  # characters of a label: nobody chooses between essays
_TOLD = 80  # characters of a description that is told beside others
_NEAREST = 3
_CHOICES = 6  # values that are told of a parameter that has so few
_PARAMETERS = 10  # that are asked for by their descriptions


def no_match(live: Live, *, host: Host) -> ResultEnvelope:
    """Return the envelope of a text that no plugin is known to be for, with what comes nearest."""
    nearest = [candidate.intent for candidate in live.record.decision.candidates[:_NEAREST]]
    return _unmatched(live, say("no_match", live.locale), nearest=nearest, host=host)


def no_intent(live: Live, *, host: Host) -> ResultEnvelope:
    """Return the envelope of an intent that was given and that nobody serves, with those of the nearest names."""
    intent = live.record.decision.intent
    known = [target.service.intent.name for target in host.targets]
    nearest = difflib.get_close_matches(intent[:_LABEL], known, n=_NEAREST) if live.parent is None else []
    return _unmatched(live, say("no_intent", live.locale, intent=intent), nearest=nearest, host=host)


def _unmatched(live: Live, sentence: str, *, nearest: Sequence[str], host: Host) -> ResultEnvelope:
    sentences = [sentence]
    if nearest:
        between = say("between", live.locale)
        names = between.join(_called(intent, live.locale, host=host) for intent in nearest)
        sentences.append(say("nearest", live.locale, names=names))
    if live.parent is None:  # a plugin has no use for it
        sentences.append(say("try_help", live.locale))
    return failed("no_match", joined(live.locale, *sentences))


def _called(intent: str, locale: Locale, *, host: Host) -> str:
    """Return an intent with what it is for."""
    told = _purpose(intent, host)
    return say("called", locale, intent=intent, told=told[:_TOLD]) if told else intent


def _purpose(intent: str, host: Host) -> str:
    """Return what an intent is for, on one line; "" if nobody serves it or says."""
    target = host.find(intent)
    return " ".join((target.service.intent.description if target is not None else "").split())


def missing(
    live: Live,
    target: Target,
    *,
    names: Sequence[str],
    misfits: Sequence[Problem] = (),
) -> ResultEnvelope:
    """Return the question for the parameters of these names, which `target` needs and the message lacks.

    `misfits` are what is wrong with those of them that are there.
    """
    properties = target.service.parameters.properties
    wanted = [_wanted(name, properties.get(name), locale=live.locale) for name in names[:_PARAMETERS]]
    wanted += ["…"] if len(names) > _PARAMETERS else []
    question = say("missing", live.locale, wanted=say("between", live.locale).join(wanted))
    if misfits:
        words = "; ".join(problem.message for problem in misfits)
        wrong = say("invalid_payload", live.locale, problems=words) + say("stop", live.locale)
        question = joined(live.locale, wrong, question)
    return _ask(question, question, missing=names)


def _wanted(name: str, schema: Any, *, locale: Locale) -> str:
    """Return a parameter as it is asked for: what it is, its name, and what there is to choose from."""
    told, between = description(schema), say("or", locale)
    values = options(schema)
    choices = [str(one) for one in values] if len(values) <= _CHOICES else []
    if isinstance(schema, dict) and schema.get("type") == "boolean":
        choices = [say("yes", locale), say("no", locale)]
    names = [name] if told else []
    beside = say("colon", locale).join([*names, *([between.join(choices)] if choices else [])])
    return say("called", locale, intent=told or name, told=beside) if beside else name


def which(live: Live, rivals: Sequence[Candidate], *, host: Host) -> ResultEnvelope:
    """Return the question which of `rivals` is meant; of a single one, whether it is."""
    offered = []
    for number, candidate in enumerate(rivals, 1):
        label = _purpose(candidate.intent, host)[:_LABEL] or candidate.intent
        offered.append({"n": number, "intent": candidate.intent, "label": label})
    question = say("clarify" if len(offered) > 1 else "clarify_one", live.locale)
    why = live.record.decision.warning
    if len(offered) == 1 and why is not None:
        question = joined(live.locale, why, question)
    listed = say("between", live.locale).join(f"{one['n']}. {one['label']}" for one in offered)
    return _ask(question, joined(live.locale, question, listed), options=offered)


def refused(live: Live) -> ResultEnvelope:
    """Return the envelope of an answer that wants none of what was asked about."""
    return ResultEnvelope(data=say("refused", live.locale))


def question_digest(envelope: ResultEnvelope, *, locale: Locale) -> str | None:
    """Return a question as a person is to be shown it, with its options one a line; None if it is none."""
    if envelope.error is None or envelope.error.code != "clarification_needed" or envelope.data is None:
        return None
    question, options = envelope.data["question"], envelope.data["options"]
    if not options:
        return str(question)
    lines = [f"{one['n']}. {one['label']}" for one in options]
    how = say("how_to_choose" if len(options) > 1 else "how_to_agree", locale)
    return "\n\n".join((question, "\n".join(lines), how))


def _ask(
    question: str,
    sentence: str,
    *,
    options: Sequence[dict[str, Any]] = (),
    missing: Sequence[str] = (),
) -> ResultEnvelope:
    data = {
        "question": question,
        "options": list(options),
        "missing": list(missing),
        "expires_at": time.time() + ANSWER_WITHIN,
    }
    return failed("clarification_needed", sentence, data=data)
