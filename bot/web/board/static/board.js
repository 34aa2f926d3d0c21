"use strict";
// On top of htmx: sending with the keyboard, refusals in place, text kept that is typed meanwhile, moments in local time.
(() => {
  const trouble = document.getElementById("trouble");
  const texts = trouble ? trouble.dataset : {};
  const say = (text) => { if (trouble && trouble.textContent !== text) trouble.textContent = text; };

  // On a phone not all sections fit: the open one is in view.
  document.querySelector(".sections [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  // Ctrl + Enter presses the button that belongs to the box.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing || event.repeat) return;
    const button = document.getElementById(event.target.dataset?.send);
    if (!button || button.disabled) return;
    event.preventDefault();
    button.click();
  });

  // A refusal comes with the whole form in it: it is shown like any other answer.
  const REFUSED = 409;
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.xhr.status !== REFUSED) return;
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  });

  // What was typed since the form was sent is in no response: it is carried into the new form.
  let typed = [];
  const typedSince = (box, sent) => {
    const { id, value, selectionStart: start, selectionEnd: end } = box;
    return { id, value, sent: String(sent.get(box.name) ?? "").replaceAll("\r\n", "\n"), start, end, here: box === document.activeElement };
  };
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const { target, requestConfig, shouldSwap } = event.detail;
    if (target.id !== "work" || !shouldSwap) return;
    const boxes = [...target.querySelectorAll("textarea")];
    typed = boxes.map((box) => typedSince(box, requestConfig.formData)).filter((each) => each.value !== each.sent);
  });
  document.body.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id !== "work") return;
    for (const { id, value, sent, start, end, here } of typed) {
      const box = document.getElementById(id);
      if (!box) continue;
      // Text typed after the sent part is appended to what the new box contains.
      const further = value.startsWith(sent);
      const moved = further ? box.value.length - sent.length : 0;
      box.value = further ? box.value + value.slice(sent.length) : value;
      box.closest("[hidden]")?.removeAttribute("hidden");
      box.closest("details")?.setAttribute("open", "");
      if (!here || box.readOnly) continue;
      box.focus({ preventScroll: true });
      box.setSelectionRange(Math.max(0, start + moved), Math.max(0, end + moved));
      // htmx would move the focus there in a moment.
      for (const other of event.target.querySelectorAll("[autofocus]")) other.removeAttribute("autofocus");
    }
    typed = [];
  });

  // What did not work. A list that looks by itself is quiet about it until the next time.
  const told = (xhr) => {
    if (xhr.status === 401) return texts.out;
    try { return JSON.parse(xhr.responseText).detail; } catch { return ""; }
  };
  const AWAY = texts.away;
  const isLook = (event) => event.detail.requestConfig.verb === "get";
  document.body.addEventListener("htmx:responseError", (event) => {
    const { xhr } = event.detail;
    if (isLook(event) && xhr.status >= 500) return;
    say(told(xhr) || texts.failed);
  });
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.body.addEventListener(name, (event) => { if (!isLook(event)) say(AWAY); });
  }
  document.body.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful && !isLook(event)) say("");
  });

  // Moments as they are where the reader is.
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const localise = (root) => {
    for (const time of root.querySelectorAll("time[data-local]")) {
      time.title = time.textContent;
      time.textContent = format.format(new Date(time.dateTime));
      time.removeAttribute("data-local");
    }
  };
  localise(document);
  document.body.addEventListener("htmx:load", (event) => localise(event.target));
})();
