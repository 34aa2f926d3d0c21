"""Signs in a message of what it is about: this workplace, the world at large, or who helps."""

from __future__ import annotations

import re

_OURS = (  # said of the company, by one who works there
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
_SYSTEMS = (  # kept by the company even where the product is everybody's
    r"\b(?:vpn|sso|mfa|2fa|okta|jira|confluence|sharepoint|workday|concur|salesforce|servicenow"
    r"|sap|citrix|outlook|wifi|wi fi|printers?|licen[sc]es?|sign up|log ?in|login|signed|access"
    r" to)\b"
)
_HELPER = re.compile(  # somebody who could help, or the bot that did not
    r"\b(?:humans?|persons?|people|some ?one|some ?body|any ?one|any ?body|no ?body|agents?"
    r"|operators?|rep|representatives?|colleagues?|technicians?|experts?|supervisors?|team|support"
    r"|bots?|chatbots?|robots?|you|your|tickets?|call|phone|escalat\w+|answers?|desk|complain\w*)\b"
)
_ANYWHERE = re.compile(f"{_OURS}|{_SYSTEMS}")
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


def is_about_the_workplace(plain_text: str) -> bool:
    """Whether it names something that only this company's pages can know."""
    return bool(_ANYWHERE.search(plain_text))


def is_asked_in_general(plain_text: str) -> bool:
    """Whether it has the form of general knowledge, a writing task, a sum or chat."""
    return bool(_ASKED_IN_GENERAL.search(plain_text))


def names_a_helper(plain_text: str) -> bool:
    """Whether somebody is named who could help, or the bot itself."""
    return bool(_HELPER.search(plain_text))
