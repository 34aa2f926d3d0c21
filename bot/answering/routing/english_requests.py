"""Define regular expressions for English requests for a person; they match normalized text."""

from __future__ import annotations

import re
from functools import cache

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
LEAD = (  # words that may precede an imperative
    r"(?:(?:ok|okay|no|nope|yes|yeah|well|so|then|and|or|but|just|now|please|pls|plz|kindly|hi"
    r"|hey|hello|thanks|sorry|forget it|fine|right|oh|alright|actually|instead|still|also|maybe"
    r"|urgent|bot|frontdesk|dear|team|there|let me|lets|help me|you|to|i|we|ill|id|would|will|can"
    r"|could|may|might|must|like|love|want|wanna|wish|need|have|gotta|got|prefer|rather|demand"
    r"|insist|do|mind|going|try|trying|it|really|directly|again|better|able|be|go|ahead|me|us"
    r"|in|that case|quickly|good|morning|afternoon|evening|day) )*"
)
THIRD_PARTY = (  # a third party's request: a question for the pages
    r"\b(?:customers?|clients?|users?|callers?|candidates?|patients?|visitors?|guests?|students?"
    r"|tenants?|vendors?|suppliers?|employees?|reports?|applicants?|he|she|they|who|members?)"
    r" (?:\w+ )?(?:wants?|asks?|asked|needs?|demands?|insists?|would like|requests?|wishes)\b"
)
OBJECT = (  # "connect me to" one of these is about machines or pages, not people
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
TICKET_KIND = (
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


NO_HUMAN = re.compile(  # "human", "agent" or "person" in phrases that ask for nobody
    r"\bhuman (?:resources?|readable|errors?|rights|capital|factors?|cent(?:er|re)d|body|subjects?"
    r"|trafficking|firewall|relations|review|in the loop|language|genome|eye|brain)"
    r"|\bnon human\b|\bagent (?:forwarding|version|install|config|service|pool|key)"
    r"|\b(?:real estate|travel|user|ssh|build|monitoring|purchasing) agents?"
    r"|\bpersons? with disabilit|\bin the loop\b"
)
_REQUESTS = (
    (
        rf"\b(?:talk|speak|chat|discuss \w+) (?:\w+ )?(?:to|with) (?!my\b)(?:\w+ ){{0,3}}?"
        rf"(?:{PERSON}|{DESK})\b(?! {BOT})"
    ),
    (
        rf"\b(?:want|need|like|let me|can i|could i|may i|rather|just|^)(?: \w+)? "
        rf"?(?:talk|speak|chat) (?:directly )?(?:to|with) (?:{TEAM}|(?:the|your|a) manager)\b"
    ),
    (
        rf"\b(?:connect|connecting|transfer|transferring|patch|hand|put|putting|forward|pass"
        rf"|switch) (?:me|us)\b(?! {OBJECT})"
        rf"(?: \w+){{0,2}}? (?:to|with)\b(?! {OBJECT})"
    ),
    rf"^{LEAD}(?:connect|transfer) (?:me|us)\b(?: \w+)?$",
    (
        rf"\b(?:connect|direct|refer|send|redirect|route|point|bring|switch|hand"
        rf"|transfer)(?:ed)? "
        rf"(?:me |us |over |through )*(?:to|with) (?:\w+ ){{0,3}}?(?:{PERSON}|{DESK})\b"
    ),
    (
        rf"^{LEAD}(?:forward|pass|hand|give|assign|route|send|raise|bring|take|report|refer) "
        rf"(?:this|it|that|my \w+)(?: \w+){{0,2}}? (?:to|with) (?:\w+ ){{0,4}}?"
        rf"(?:{PERSON}|{DESK}|team|hr|it|finance|legal)\b"
    ),
    (
        rf"^{LEAD}(?:get|give|find|send|bring|fetch|grab|call|page|ring|ping|loop in|tag"
        rf"|involve"
        rf"|bring in|summon|wake|wake up|ask|provide|assign)(?: in)?(?: me| us)?(?: this to)? "
        rf"(?:\w+ ){{0,2}}?(?:{PERSON})(?: (?:to|who|from|on|here|now|please|instead|asap|in|at"
        rf"|that|immediately|right|for|of|pls|else|real)\b|$)"
    ),
    (
        rf"^{LEAD}(?:a |an |any )?{PERSON} (?:from (?:\w+ ){{0,3}}?\w+(?: please| pls)?$|who"
        rf" (?:can|could|knows|will|is)|to (?:call|look|talk|contact|come"
        rf"|take|speak"
        rf"|(?:help|assist|fix|check) (?:me|us|this|it|that|my)))\b"
    ),
    (
        rf"^{LEAD}(?:get|give|call|page|ring|loop in|involve|connect|find) (?:me |us )?"
        rf"(?:the |your )?(?:{DESK}|{DESK} team|support team|\w+ team|on[- ]?call|on duty)\b"
    ),
    (
        r"\b(?:page|call|ring|wake|wake up|alert) (?:the |whoever |whomever )?(?:\w+ )?(?:is )?"
        r"(?:on[- ]?call|on duty|duty)\b"
    ),
    (
        rf"\b(?:can|could|would|will|please|have|let|ask|want|need|get)(?: you)?(?: please)? "
        rf"(?:a |an |the |some )?(?:real |human |other )?{PERSON}"
        rf"(?: (?:from|in|at|of|on) (?:\w+ ){{1,4}}?| )(?:please |pls |just |quickly |kindly )?"
        rf"(?:to )?{HELPS}"
    ),
    (
        rf"\b{PERSON} (?:else )?(?:needs?|has|have|should|must) (?:to )?"
        rf"(?:look|come|fix|help|see|call|contact|take|deal|sort|act|check)\b"
    ),
    (
        rf"\bis there (?:a |an |any )?(?:{PERSON})(?: \w+){{0,3}} (?:i|we) (?:can|could|may) "
        rf"(?:talk|speak|chat|call|ask|contact|reach|phone)\b"
    ),
    rf"\bis {PERSON} (?:from |at |in )?(?:\w+ ){{0,3}}(?:available|online|around|free)\b",
    (
        rf"^{LEAD}{TICKET_VERB} (?:me |us )?{TICKET_KIND}{TICKET}\b(?! (?:type|number|price"
        rf"|template))"
    ),
    rf"\bi (?:need|want|would like|have|wish) to {TICKET_VERB} {TICKET_KIND}{TICKET}\b",
    (
        rf"^{LEAD}(?:a |an |new |another )*(?:ticket|incident)(?: (?:please|pls|for (?:this"
        rf"|it|me)"
        r"|opened|raised|created|now))*$"
    ),
    rf"\b(?:make|create|raise|open) (?:a |an )?{TICKET} (?:out of|from|for) (?:this|it|me)\b",
    (
        rf"^{LEAD}(?:log|place|make|report|put in|submit) (?:a |this |it |an |the )(?:call"
        rf"|request"
        rf"|problem|fault)? ?(?:to|with|for me)\b(?: \w+){{0,4}}"
    ),
    rf"^{LEAD}escalat(?:e|ing)(?: (?:this|it|that|my|to|now|please|the (?:issue|matter))\b|$)",
    rf"^{LEAD}(?:call|phone|ring|contact|message) (?:me|us)\b",
    rf"^{LEAD}(?:reach out|get back) to me\b",
    rf"^{LEAD}(?:a )?(?:call ?back|second opinion)\b",
    (
        r"\b(?:call|phone|talk|speak|chat) (?:with |to )?(?:a |an )?"
        r"(?:person|human|someone|somebody)$"
    ),
    r"\bby phone with\b",
    (
        rf"\b(?:can|could|would|will) (?:a |an |one of your |your )?(?:person|{STAFF})"
        rf" (?:please )?help"
    ),
    rf"\b(?:help|assistance|answer) from (?:a |an |some )?(?:\w+ )?{PERSON}\b",
    rf"\b(?:call|meeting|appointment|chat|conversation|word) with (?:\w+ ){{0,2}}?{PERSON}\b",
    rf"\bi (?:want|need|demand|would like) (?:a |an )?{PERSON}$",
    rf"\b(?:get|give|find|send|bring|fetch) me (?:a |an |some )?(?:other )?{PERSON}$",
    rf"^{LEAD}{PERSON} (?:please |pls )*help\b",
    r"\b(?:need|want) personal (?:assistance|help|support)\b",
)

_UNCONDITIONAL_REQUESTS = (
    (
        rf"\b(?:talk|speak|chat|connect|reach|get|gimme|gimmie|want|need|give|find|contact"
        rf"|transfer|call|ask"
        rf"|please|just|prefer|rather|with|to|through|for|no|switch|involve|have|can|send|bring"
        rf"|demand|message|of|where(?: is|s)?|is there|are there|deserve)"
        rf" (?:\w+ ){{0,3}}?{HUMAN}\b"
    ),
    (
        rf"^(?:{HUMAN})(?: (?:please|pls|plz|now|asap|agent|help|support|handoff|hand off"
        rf"|assistance|takeover|only|instead|here))*$"
    ),
    rf"^(?:how|where) (?:do|can|could) i (?:talk|speak|chat) (?:to|with) {PERSON}$",
    (
        rf"\b(?:dont|do not|not|hate|tired|sick|done|stop|stopped|enough|no more|never)\b"
        rf"(?: \w+){{0,4}} (?:talk|speak|chat|deal|argu)\w* (?:to|with) (?:\w+ )?{BOT}\b"
    ),
    rf"\b(?:done|fed up|enough|sick|tired|had it) (?:with|of) (?:\w+ ){{0,2}}{BOT}\b",
    (
        rf"(?<!am )(?<!are you )(?<!im )\b(?:and |but )?not (?:to |from |with )?(?:a|an|the"
        rf"|this"
        rf"|another|some) (?:stupid )?{BOT}\b(?= ?(?:please|pls|$))"
    ),
    (
        rf"^(?:no|skip|bypass|stop|forget|no more|enough)(?: the| this| more| with| of)* {BOT}"
        rf"(?: please| pls)*$"
    ),
    rf"\b(?:instead|rather) (?:of|than) (?:a |this |the )?{BOT}\b",
    (
        rf"\bcomplain\w*(?: \w+){{0,3}} (?:about|against|on|regarding|over) (?:\w+ )?"
        rf"(?:{BOT}|you|your answers?|answers?)\b"
    ),
    rf"^{LEAD}(?:to )?(?:file|make|lodge|submit|have)?(?: a| my)? ?complain(?:t)?$",
    rf"\b{BAD} (?:\w+ )?(?:{BOT}|answers?|reply|responses?)\b",
    (
        rf"\b(?:you are|youre|this is|{BOT} is|your answers? (?:is|are|was)|thats|that is|ur)"
        rf"(?: \w+){{0,2}} {BAD}(?: and\b|$)"
    ),
    (
        r"\b(?:this|that|it|you|u|which|bot|answers?|links?)(?: \w+)? ?(?:isnt|is not|not|arent"
        r"|are not|didnt|did not|doesnt|does not|dont|do not|wasnt|was not|havent|have not"
        r"|hasnt"
        r"|never|cant|cannot)(?: \w+)? (?:help|helping|helped|helpful|answering|listening"
        r"|answer(?:ed)? (?:me|my|the|what)|understand(?:ing)?(?: (?:me|my|what))?)\b"
        r"(?! (?:with|when|if|for|on|how|why)\b)"
    ),
    r"\bnot what i (?:asked|meant|wanted|was asking|am asking|said|need|needed|was looking)\b",
    (
        r"\b(?:youre|you are|thats|that is|this is|your (?:answer|reply|response|information) "
        r"(?:is|was)|(?:the )?answer(?: you gave(?: me)?)? (?:is|was))(?: \w+){0,2}? (?:wrong"
        r"|incorrect|false|nonsense|bullshit|ridiculous|not (?:correct|right|true))"
        r"(?: again| and\b.*| please)?$"
    ),
    (
        r"\b(?:gave|giving|given|give|get|got|getting|keep \w+)(?: me| us)?(?: \w+)? (?:same"
        r"|wrong"
        r"|useless|incorrect)(?: \w+)? (?:answers?|info(?:rmation)?|reply|responses?|links?)\b"
    ),
    r"^(?:\w+ )?same (?:\w+ )?(?:answer|reply|response)(?: again)?$",
    (
        r"\b(?:second|third|fourth|fifth|2nd|3rd|4th|5th|\d+th|hundredth) time (?:you|i (?:ask"
        r"|tell"
        r"|told|say|said|have|explain))"
    ),
    r"\bhow many times do i (?:have|need) to\b",
    (
        r"\bi (?:have |ve )?(?:already )?(?:asked|told|said|explained)(?: you)?(?: this| that|"
        r" it)?"
        r"(?: already| now)? (?:\w+ times|twice)\b"
    ),
    r"\bi already (?:told|asked) you\b|\byou already (?:said|told|gave)\b",
    (
        r"\bnot (?:satisfied|happy|pleased)(?: at all)? with (?:\w+ )?(?:answers?|reply"
        r"|response"
        r"|bot|chatbot|assistant|help|support|you)\b|^(?:i am |im )?not satisfied$"
    ),
    r"\b(?:going|getting|leads?|leading) nowhere\b|\b(?:round|around) in circles\b",
    (
        rf"\bi hate (?:this|the|your|that) (?:\w+ )?{BOT}\b|\bno ?(?:one|body) (?:helps"
        rf"|answers me)\b"
    ),
    r"\b(?:dont|do not) want (?:\w+ ){0,2}?(?:automated|canned|robot|bot)\b",
    rf"\b(?:talking|speaking|chatting) (?:to|with) (?:a |this |the )?{BOT} is\b",
    r"\bi (?:dont|do not) trust (?:you|this|your)\b",
    r"\bi (?:dont|do not) want to (?:type|read|chat)\b",
)


@cache
def requests() -> tuple[re.Pattern[str], ...]:
    """Return patterns of requests, unless the clause asks how something is done.

    They are compiled at the first message: at import they would delay the start by 20 ms.
    """
    return tuple(map(re.compile, _REQUESTS))


@cache
def unconditional_requests() -> tuple[re.Pattern[str], ...]:
    """Return patterns of what is a request even in the form of a question."""
    return tuple(map(re.compile, _UNCONDITIONAL_REQUESTS))


QUESTION = re.compile(rf"^(?:(?:and|so|but|ok|hi|hey|please|or) )*{ASKING}\b")
SOMEBODY_ELSE = re.compile(THIRD_PARTY)
ABOUT_THE_BOT = re.compile(  # questions whether the bot is a human
    r"^(?:\w+ ){0,6}?(?:am i|are you|are u|r u|is this|is that|you are|youre|u are|could you be"
    r"|you were|can you act|you act|is there an? (?:real )?(?:person|human) behind)\b"
    r"(?!.*\b(?:talk|speak|get|want|need|connect|give|transfer|put|call|let|contact|available)\b)"
    r".*\b(?:humans?|person|real|bot|robot|machine)\b"
    r"|^(?:am i|are you) (?:\w+ )?(?:talking|speaking|chatting)\b"
    r"|^(?:real |a )?(?:bot|robot|machine|human|person) or (?:a )?(?:bot|robot|machine|human"
    r"|person)$"
)
NAMED_DESK = re.compile(rf"\b{DESK}\b")
