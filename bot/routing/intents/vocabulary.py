"""The words of requests for a person, as parts of regular expressions."""

from __future__ import annotations

SOMEONE = r"(?:someone|somebody|anyone|anybody|some one|some body)"
STAFF = (
    r"(?:agents?|operators?|representatives?|reps?|advisors?|advisers?|technicians?|supervisors?"
    r"|colleagues?|experts?|specialists?|employees?|staff|receptionists?|consultants?)"
)
PERSON = rf"(?:{SOMEONE}|persons?|people|{STAFF})"
DESK = r"(?:support|service ?desk|help ?desk|customer (?:service|support|care)|tech support)"
TEAM = (
    r"(?:(?:the |your )?(?:hr|it|payroll|finance|legal|facilities|security|travel|benefits|people"
    r"|accounting|procurement|recruiting|compliance)(?: (?:team|department|desk|people|guys))?"
    r"|(?:the |your )?(?:\w+ )?team)"
)
HUMAN = (
    r"(?:humans?|human beings?|(?:real|live|actual|living|proper|physical) (?:\w+ )?"
    r"(?:humans?|persons?|people|agents?|someone|somebody|one|operators?|reps?|representatives?"
    r"|employees?|being|chat|support|advisors?|colleagues?))"
)
ASKING = (
    r"(?:how|what|where|which|who|whom|whose|when|why|should|shall|must|does|did|do (?:i|we|you)"
    r"|is it|is there a (?:way|process|policy|form|page|template|link|guide)|are (?:we|there)"
    r"|am i|if|will|has|have i|in which|at what|until when|steps|process|procedure|guide|policy)"
)
LEAD = (  # what may stand before an imperative
    r"(?:(?:ok|okay|no|nope|yes|yeah|well|so|then|and|or|but|just|now|please|pls|plz|kindly|hi"
    r"|hey|hello|thanks|sorry|forget it|fine|right|oh|alright|actually|instead|still|also|maybe"
    r"|urgent|bot|frontdesk|dear|team|there|let me|lets|help me|you|to|i|we|ill|id|would|will|can"
    r"|could|may|might|must|like|love|want|wanna|wish|need|have|gotta|got|prefer|rather|demand"
    r"|insist|do|mind|going|try|trying|it|really|directly|again|better|able|be|go|ahead|me|us"
    r"|in|that case|quickly|good|morning|afternoon|evening|day) )*"
)
THIRD = (  # somebody else wants it: that is a case to be looked up
    r"\b(?:customers?|clients?|users?|callers?|candidates?|patients?|visitors?|guests?|students?"
    r"|tenants?|vendors?|suppliers?|employees?|reports?|applicants?|he|she|they|who|members?)"
    r" (?:\w+ )?(?:wants?|asks?|asked|needs?|demands?|insists?|would like|requests?|wishes)\b"
)
OBJECT = (  # after these, "connect me to" is about machines and pages
    r"(?:the |our |your |my |a )?(?:\w+ )?(?:vpn|wi ?fi|network|printer|page|link|site|website"
    r"|docs?|documents?|policy|policies|handbook|form|article|wiki|channel|portal|server|database"
    r"|guide|folder|drive|file|list|template|instructions|calendar|internet|intranet)\b"
)
HELPS = (
    r"(?:call|phone|ring|contact|reach|get back|come|stop by|visit|look|take a look|take over"
    r"|fix (?:this|it|that|my)"
    r"|deal with|sort|see to|attend|assist me|talk|speak|chat|verify|confirm (?:that|this|it)"
    r"|check (?:that|this|it)|pick (?:this|it) up|handle|respond|answer me|help(?: me| us)?(?= ?$))"
)
KIND = (
    r"(?:(?:a|an|the|one|new|my|it|hr|support|service|service ?desk|help ?desk|trouble|urgent|high"
    r"|low|priority|quick|formal|another|jira|servicenow|this|as|snow|bug) )*"
)
TICKET = (
    r"(?:tickets?|incidents?|support (?:request|case)|service (?:request|call)|case|help request)"
)
TICKET_VERB = (
    r"(?:open|raise|create|log|file|submit|make|start|put in|lodge|register|generate|issue|enter)"
)
BOT = r"(?:chat ?bots?|bots?|robots?|machines?|assistants?|frontdesk|computers?|automat\w+)"
BAD = (
    r"(?:useless|terrible|awful|horrible|worst|hopeless|pathetic|rubbish|worthless|garbage|crappy"
    r"|frustrating|unhelpful|no help|no use|a joke|a waste of time|not helpful|not useful)"
)
