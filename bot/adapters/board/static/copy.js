// A button beside each command that copies it, where the browser allows that.
"use strict";
if (navigator.clipboard) {
  for (const command of document.querySelectorAll(".command")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy: ${command.textContent}`);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(command.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Select it, and copy";
      }
    });
    command.after(button);
  }
}
