"use strict";
// Small comforts on top of htmx: Enter sends, starters fill the box, the newest message is in view.
(() => {
  const form = document.getElementById("ask");
  if (!form) return;
  const box = form.querySelector("textarea");
  const messages = document.getElementById("messages");
  const trouble = document.getElementById("trouble");

  const fit = () => {
    box.style.height = "auto";
    box.style.height = Math.min(box.scrollHeight, 200) + "px";
  };
  const send = () => form.requestSubmit();

  box.addEventListener("input", fit);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (box.value.trim()) send();
    }
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-ask]");
    if (!button) return;
    box.value = button.dataset.ask;
    send();
  });
  document.addEventListener("toggle", (event) => {
    if (event.target.matches("details[data-why]") && event.target.open) {
      htmx.trigger(event.target, "open-why");
    }
  }, true);
  document.body.addEventListener("click", (event) => {
    const mark = event.target.closest("a.mark");
    if (!mark) return;
    const source = document.querySelector(mark.getAttribute("href"));
    if (source) {
      event.preventDefault();
      source.querySelector("details").open = true;
      source.scrollIntoView({ block: "nearest", behavior: "smooth" });
    }
  });
  form.addEventListener("htmx:afterRequest", (event) => {
    if (event.target !== form || !event.detail.successful) return;
    document.getElementById("welcome")?.remove();
    form.reset();
    fit();
  });
  messages.addEventListener("htmx:afterSettle", () => {
    messages.lastElementChild?.scrollIntoView({ block: "end" });
  });
  const say = (text) => { trouble.textContent = text; };
  document.body.addEventListener("htmx:beforeRequest", () => say(""));
  document.body.addEventListener("htmx:sendError", () => say("The server can't be reached. Your text is still in the box; try again in a moment."));
  document.body.addEventListener("htmx:responseError", (event) => {
    let text = "That did not work. Try again in a moment.";
    try { text = JSON.parse(event.detail.xhr.responseText).detail || text; } catch { /* not JSON */ }
    say(text);
  });
})();
