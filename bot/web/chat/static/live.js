"use strict";
// The conversation live: the server says what changed, htmx fetches it. Without it chat.js polls.
(() => {
  const form = document.getElementById("ask");
  const messages = document.getElementById("messages");
  const status = document.getElementById("status");
  if (!form || !messages) return;

  // The stream: open while something can change and somebody looks, so that tabs take no connections.
  const AGAIN = 2000, RARELY = 30000, CARDS = 5000, UNSEEN = 30000;
  let source = null, pause = AGAIN, retry = 0, cards = 0;
  const wanted = () => messages.querySelector(".answer.working, .case.unsettled");
  const tell = (live) => {
    if ((messages.dataset.live === "on") === live) return;
    messages.dataset.live = live ? "on" : "off";
    messages.dispatchEvent(new Event("chat:live"));
  };
  const lookAtCards = () => {
    clearTimeout(cards);
    if (source?.present || !messages.querySelector(".case.unsettled")) return;
    cards = setTimeout(() => {
      messages.querySelectorAll(".case.unsettled").forEach((card) => htmx.trigger(card, "look"));
      lookAtCards();
    }, document.hidden ? UNSEEN : CARDS);
  };
  const close = () => {
    clearTimeout(retry);
    source?.close();
    source = null;
    tell(false);
  };
  const open = () => {
    close();
    if (document.hidden || !window.EventSource || !messages.querySelector(".exchange")) return;
    const stream = source = new EventSource(`${form.getAttribute("action")}/events`);
    stream.addEventListener("present", () => {
      stream.present = true;
      pause = AGAIN;
      tell(true);
    });
    stream.addEventListener("stage", (event) => staged(JSON.parse(event.data)));
    stream.addEventListener("answer", (event) => answered(JSON.parse(event.data)));
    stream.addEventListener("case", (event) => changed(JSON.parse(event.data)));
    stream.addEventListener("idle", close);
    stream.addEventListener("error", () => {
      stream.present = false;
      tell(false);
      lookAtCards();
      if (stream.readyState !== EventSource.CLOSED) return;
      clearTimeout(retry);
      retry = setTimeout(open, pause);
      pause = Math.min(pause * 2, RARELY);
    });
  };

  // What the stream says.
  const staged = ({ id, text }) => {
    const doing = document.querySelector(`#a-${id}.working .doing`);
    if (!doing || doing.textContent === text) return;
    doing.textContent = text;
    doing.closest(".answer").dispatchEvent(new Event("chat:stage", { bubbles: true }));
  };
  const look = (id) => {
    const answer = document.querySelector(`#a-${id}.working`);
    if (answer) htmx.trigger(answer, "look");
    return answer;
  };
  const answered = ({ id }) => {
    // A look that was under way may still have seen the work; then the next one is dropped.
    if (look(id)) setTimeout(look, 500, id);
  };
  // A look is dropped while the card has a request under way, which may not have seen the change.
  const missed = new Set();
  const changed = ({ id, version }) => {
    const card = document.getElementById(`c-${id}`);
    if (!card || card.dataset.version === String(version)) return;
    if (card.matches(".htmx-request") || card.querySelector(".htmx-request")) missed.add(id);
    else htmx.trigger(card, "look");
  };
  messages.addEventListener("htmx:afterRequest", (event) => {
    const [, id] = /\/([^/?]+)\/case(?:\?|$)/.exec(event.detail.requestConfig?.path || "") || [];
    if (!missed.delete(id)) return;
    setTimeout(() => {
      const card = document.getElementById(`c-${id}`);
      if (card) htmx.trigger(card, "look");
    });
  });

  messages.addEventListener("htmx:load", (event) => {
    localised(event.target);
    const working = event.target.matches(".exchange") && event.target.querySelector(".working");
    if (working || (wanted() && !source)) open();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      close();
      lookAtCards();
    } else {
      document.title = title;
      open();
    }
  });
  window.addEventListener("offline", close);
  window.addEventListener("online", open);
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", (event) => { if (event.persisted) open(); });

  // What a person did while the asker looked elsewhere: in the tab's title, or above the box.
  const { title } = document;
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  const dock = document.querySelector(".dock");
  const point = (card) => {
    const headline = card.querySelector(".state strong").textContent;
    if (document.hidden) document.title = `\u25cf ${headline}`;
    dock.querySelector(".pill")?.remove();
    const { top, bottom } = card.getBoundingClientRect();
    if (bottom > 60 && top < dock.getBoundingClientRect().top - 40) return;
    const pill = document.createElement("button");
    pill.type = "button";
    pill.className = "pill";
    pill.textContent = `${headline} ${top < 60 ? "\u2191" : "\u2193"}`;
    pill.addEventListener("click", () => {
      card.scrollIntoView({ block: "center", behavior: still.matches ? "auto" : "smooth" });
      card.focus({ preventScroll: true });
      pill.remove();
    });
    dock.prepend(pill);
    new IntersectionObserver((seen, observer) => {
      if (pill.isConnected && !seen.some((each) => each.isIntersecting)) return;
      observer.disconnect();
      pill.remove();
    }, { rootMargin: "-60px 0px -160px 0px" }).observe(card);
  };

  // After a card or the feedback was swapped: it is said, and the focus is not lost with a button.
  messages.addEventListener("htmx:afterSettle", (event) => {
    const { requestConfig } = event.detail;
    const [, id, what] = /\/([^/?]+)\/(case|reason)(?:\?|$)/.exec(requestConfig?.path || "") || [];
    if (!what) return;
    const focus = (element) => {
      if (requestConfig.verb === "post" && document.activeElement === document.body) element?.focus({ preventScroll: true });
    };
    if (what === "reason") {
      status.textContent = document.getElementById("texts").dataset.thanks;
      focus(document.querySelector(`#r-${id} > summary`));
      return;
    }
    const card = document.getElementById(`c-${id}`);
    if (!card || card.querySelector("[role=alert]")) return;
    const parts = [card.querySelector(".state strong"), card.querySelector(".said > li:last-child .words")];
    status.textContent = parts.map((part) => part?.innerText.trim()).filter(Boolean).join(". ").slice(0, 800);
    if (requestConfig.verb === "get") point(card);
    else focus(card);
  });

  // Times as the reader's clock has them; the server only knows UTC.
  const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
  const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
  const localised = (root) => root.querySelectorAll("time[datetime]").forEach((time) => {
    const at = new Date(time.dateTime);
    const today = day.format(at) === day.format(new Date());
    time.textContent = today ? clock.format(at) : `${day.format(at)}, ${clock.format(at)}`;
    time.title = `${day.format(at)}, ${clock.format(at)}`;
  });

  localised(messages);
  if (wanted()) open();
})();
