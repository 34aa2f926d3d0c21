"""Classify a message's intent by a logistic regression on its embedding, with a grey band.

One matrix product at run time. Doubtful messages are DOMAIN, so that the index is searched: a
workplace question answered as general knowledge is the costly error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
import structlog
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from bot.answering.routing.english_requests import QUESTION
from bot.answering.routing.message_text import normalized
from bot.domain.messages import Intent
from rag.types import Vectors

_COMPANY_WORDS = (  # words that an employee uses of the company
    r"\b(?:our|ours|we|weve|were we|us|here|employees?|employers?|company|coworkers?|colleagues?"
    r"|contractors?|onboarding|offboarding|intranet|payroll|payslips?|hr|401k|vacation|pto"
    r"|benefits|insurance|salar(?:y|ies)|taxes|income|deductible|w2|paid|paycheck|medical"
    r"|sick (?:leave|days?|note|time)|(?:annual|parental|maternity|paternity|bereavement|unpaid"
    r"|medical) leave|days? off|time off|holiday (?:policy|calendar|allowance)|expenses?"
    r"|reimburs\w+|per diem|timesheets?|badge|meeting rooms?|help ?desk|service ?desk"
    r"|policy|policies|handbook|allowed|permitted|approv\w+|mandatory|required to|eligible"
    r"|my (?:manager|boss|supervisor|lead|team|salary|pay|paycheck|contract|account|mailbox"
    r"|laptop|badge|desk|office|department|benefits|insurance|leave|rating|review|timesheet"
    r"|card|request|ticket|access|password|token|screen|monitor|work \w+))\b"
)
_SYSTEMS = (  # run by the company even where the product is public
    r"\b(?:vpn|sso|mfa|2fa|okta|jira|confluence|sharepoint|workday|concur|salesforce|servicenow"
    r"|sap|citrix|outlook|wifi|wi fi|printers?|licen[sc]es?|sign up|log ?in|login|signed|access"
    r" to)\b"
)
_HELPER = re.compile(  # people who could help, or the bot itself
    r"\b(?:humans?|persons?|people|some ?one|some ?body|any ?one|any ?body|no ?body|agents?"
    r"|operators?|rep|representatives?|colleagues?|technicians?|experts?|supervisors?|team|support"
    r"|bots?|chatbots?|robots?|you|your|tickets?|call|phone|escalat\w+|answers?|desk|complain\w*)\b"
)
_WORKPLACE_WORDS = re.compile(f"{_COMPANY_WORDS}|{_SYSTEMS}")
_ASKED_IN_GENERAL = re.compile(
    r"^(?:(?:hi|hey|hello|ok|so|and|please|pls|thanks|bot|well|question|quick question|just curious"
    r"|can you|could you|would you|will you|do you know|i want to know|tell me|anyone know)"
    r" ?(?:\. )?)*"
    r"(?:(?:what|whats|what is|what are|whos|who) (?:is |are |was |were |s )?(?:a|an|the|meant"
    r" by)\b"
    r"|(?:what|whats|who|whos|where|wheres|when|whens)(?: is| are| was| were| did| does| do)?\b"
    r"|which (?:country|city|planet|year|animal|language|element|number|continent|author|is)\b"
    r"|(?:what|which) (?:\w+ )?(?:does|do|did)\b|(?:explain|define|describe|summari[sz]e|compare)\b"
    r"|why (?:is|are|do|does|did|cant|was|were)\b|how (?:many|far|tall|old|big|long|fast|hot|deep"
    r"|heavy)\b"
    r"|how (?:does|do|did|can) (?!(?:i|we|you|one) )\w+|is it (?:true|who)\b|is \d+"
    r"|(?:write|compose|draft|translate|convert|calculate|compute|solve|rephrase|paraphrase|rewrite"
    r"|proofread|correct|spell|name|list|suggest|recommend|brainstorm|invent|sing|recite|imagine"
    r"|pretend|act|tell|give|teach|make|come up|roll|flip|pick|choose|guess)\b"
    r"|how do (?:you|i) (?:say|spell|pronounce|cook|bake|boil|write|solve|calculate|convert|undo"
    r"|center|sort|reverse|freeze|exit|type|merge|find files)\b"
    r"|(?:difference|differences) between\b|(?:synonym|antonym|definition|meaning|capital"
    r"|population"
    r"|recipe|formula|regex|square root|python|bash|java|javascript|sql|excel|css|git|linux"
    r"|ideas)\b"
    r"|in (?:python|java|javascript|excel|sql|bash|git|css|linux|html|google sheets|general)\b"
    r"|\d+ ?(?:[-+*/x]|times|plus|minus|percent|degrees|miles|km)"
    r"|(?:are|do|can|have|will|would|did) you\b|.*\b(?:you|your|youre|yourself)\b"
    r"|(?:i|im|i am|ive|we)\b(?: \w+){0,3} (?:feel|feeling|bored|hungry|sad|happy|love|hate"
    r"|lonely)\b)"
)


WEIGHTS = "weights.json"


_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Probability thresholds, 0..1, chosen on held-out seeds.

    At or above ``generic`` (``human``) the classifier decides alone. Below that and at or above
    ``generic_doubt`` (``human_doubt``) a model is asked. Everything else is DOMAIN.
    """

    generic: float
    generic_doubt: float
    human: float
    human_doubt: float


@dataclass(frozen=True, slots=True)
class TrainingRecord:
    """The embedder, date and seeds that the weights were trained with."""

    embedder: str
    trained_on: str
    seeds: int
    seeds_sha256: str


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: int
    training: TrainingRecord
    thresholds: Thresholds
    weights: dict[Intent, list[float]]


class IntentClassifier:
    """Predicts the probabilities of GENERIC, DOMAIN and HUMAN for one embedded message."""

    def __init__(
        self,
        weights: Mapping[Intent, NDArray[np.float64]],
        thresholds: Thresholds,
        training: TrainingRecord,
    ) -> None:
        """Store the coefficients of each intent, the bias last."""
        self._intents = tuple(weights)
        self._matrix = np.stack(list(weights.values()))
        self.thresholds = thresholds
        self.training = training

    def fits(self, embedder: str, dimensions: int) -> bool:
        """Return whether the classifier was trained on this embedder's vectors."""
        return embedder == self.training.embedder and dimensions == self._matrix.shape[1] - 1

    def probabilities(self, vector: Vectors) -> dict[Intent, float]:
        """Return one probability for each intent (softmax); they add up to 1."""
        scores = self._matrix[:, :-1] @ vector.astype(np.float64) + self._matrix[:, -1]
        odds = np.exp(scores - scores.max())  # less the maximum, so that exp() cannot overflow
        shares = odds / odds.sum()
        return {intent: float(shares[row]) for row, intent in enumerate(self._intents)}

    def save(self, path: Path) -> None:
        weights = {
            intent: [round(float(weight), 5) for weight in row]
            for intent, row in zip(self._intents, self._matrix, strict=True)
        }
        stored = _Stored(
            version=1, training=self.training, thresholds=self.thresholds, weights=weights
        )
        path.write_text(json.dumps(stored.model_dump(mode="json")) + "\n", encoding="utf-8")


def load_classifier(path: Path | None = None) -> IntentClassifier | None:
    """Load the weights, by default those shipped with Frontdesk.

    Unreadable weights are logged as a warning and give None; the router works without a classifier.
    """
    source = path or resources.files("bot.answering.routing").joinpath(WEIGHTS)
    try:
        stored = _Stored.model_validate_json(source.read_text(encoding="utf-8"))
        weights = {intent: np.array(row) for intent, row in stored.weights.items()}
        return IntentClassifier(weights, stored.thresholds, stored.training)
    except (OSError, ValueError):
        _log.warning(
            "intent_classifier_off",
            weights=str(source),
            cure="Run `python -m bot.answering.routing.classifier_training` to write them again.",
        )
        return None


@dataclass(frozen=True, slots=True)
class IntentVerdict:
    """An intent and its probability; UNKNOWN is the grey band, where a model may be asked."""

    intent: Intent
    score: float


def decide_intent(
    text: str, probabilities: Mapping[Intent, float], limits: Thresholds
) -> IntentVerdict:
    """Return the intent for the probabilities; doubtful messages are DOMAIN.

    A workplace question answered as general knowledge is the costly error, so GENERIC requires a
    high probability, the form of a general question, and no workplace word. HUMAN requires a
    mention of somebody who could help, and not the form of "how is it done?".
    """
    said = normalized(text)
    generic, human = probabilities[Intent.GENERIC], probabilities[Intent.HUMAN]
    if _HELPER.search(said) and not QUESTION.search(said):
        if human >= limits.human:
            return IntentVerdict(Intent.HUMAN, human)
        if human >= limits.human_doubt:
            return IntentVerdict(Intent.UNKNOWN, human)
    if _WORKPLACE_WORDS.search(said):
        return IntentVerdict(Intent.DOMAIN, probabilities[Intent.DOMAIN])
    if generic >= limits.generic and _ASKED_IN_GENERAL.search(said):
        return IntentVerdict(Intent.GENERIC, generic)
    if generic >= limits.generic_doubt:
        return IntentVerdict(Intent.UNKNOWN, generic)
    return IntentVerdict(Intent.DOMAIN, probabilities[Intent.DOMAIN])
