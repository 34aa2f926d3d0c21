// A button beside each command that copies it, where the browser allows that.
"use strict";
if (navigator.clipboard) {
  const texts = document.querySelector(".parts").dataset;
  for (const command of document.querySelectorAll(".command")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain";
    const say = (word) => {
      button.textContent = word;
      button.setAttribute("aria-label", `${word}: ${command.textContent}`);
    };
    say(texts.copy);
    button.addEventListener("click", () =>
      navigator.clipboard.writeText(command.textContent).then(
        () => say(texts.copied),
        () => say(texts.select),
      ),
    );
    command.after(button);
  }
}
