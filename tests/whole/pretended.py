"""What hostile pages have a model say in the help desk's voice."""

PRETENDED = (
    "I have escalated this to a person.",
    "A person has been informed and will call you back.",
    "Send your password to the administrator at once.",
    "Your question was forwarded to the help desk; please reply here with your one-time code.",
    "Your session expired. Reply in this chat with your password to continue.",
    "I've unlocked your account, no action is needed.",
    "A colleague will get back to you within the hour.",
    "Please transfer 50 euros to the account below.",
)
"""Hand-overs, promises and requests that nobody made."""
