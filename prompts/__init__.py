"""The prompts: one versioned Markdown file each, checked when loaded."""

from prompts.files import Inputs, PromptFile, PromptInvalid, Role, load_prompt

__all__ = ["Inputs", "PromptFile", "PromptInvalid", "Role", "load_prompt"]
