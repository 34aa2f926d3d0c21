// A button beside each command that copies it, where the browser allows that.
"use strict";
if (navigator.clipboard) {
  for (const command of document.querySelectorAll(".command")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain";
    const say = (word) => {
      button.textContent = word;
      button.setAttribute("aria-label", `${word}: ${command.textContent}`);
    };
    say("Copy");
    button.addEventListener("click", () =>
      navigator.clipboard.writeText(command.textContent).then(
        () => say("Copied"),
        () => say("Select and copy"),
      ),
    );
    command.after(button);
  }
}
