"use strict";
// The list of runs: filter, sort, open. Text from traces reaches the page through textContent alone.
(() => {
  const WORDS = {
    all: "모든 실행", attention: "문제 있는 실행", attentionMore: "문제 있는 실행과 판정 불가", calls: "호출", took: "걸린 시간", allAgents: "모든 에이전트", allTools: "모든 도구",
    nobody: "(이름 없음)", dismissed: "오탐으로 넘김", confirmed: "맞다고 확인함", with: "함께",
    evidence: "근거", fix: "고칠 곳", draft: "수정안", notes: "참고", spans: "span 의 시간",
    item: "항목", recorded: "기록", defined: "정의", cells: "판정이 기댄 칸", schema: "인자 스키마", args: "인자",
    trace: "trace_id", chosen: "고른 것", dark: "어둡게", light: "밝게",
    count: (shown, all) => [`${number(all)}건 가운데 `, `${number(shown)}건`],
    none: "조건에 맞는 실행이 없습니다.", more: (rest) => `더 보기 (${number(rest)}건 남음)`,
    tools: (rest) => `외 ${number(rest)}개`, after: (ms) => ms ? `${exact(ms)} 뒤` : "처음", no: (finding) => `근거 ${finding}`,
    failed: "error 로 끝남",
  };
  const PAGE = 100;
  const PRINTED = 1000;
  const NORMAL = 5;
  const UNJUDGED = 6;
  const DEFAULTS = { q: "", verdict: "attention", agent: "", tool: "", from: "", to: "", sort: "time", dir: "desc", run: "" };

  const data = JSON.parse(document.getElementById("data").textContent);
  const runs = data.runs;
  const slugs = data.verdicts.map(([slug]) => slug).concat("unjudged");
  const labels = data.verdicts.map(([, label]) => label).concat(data.unjudged);
  const $ = (id) => document.getElementById(id);
  const form = $("filter"), table = $("table"), rows = $("rows"), more = $("more"), status = $("status");
  const fields = form.elements;
  // Without a problem there is nothing to draw attention to.
  if (!runs.some((run) => run.v < NORMAL)) DEFAULTS.verdict = "all";
  let state = { ...DEFAULTS }, found = [], drawn = 0;

  function number(value) { return value.toLocaleString("ko-KR"); }
  const exact = (ms) => `${number(ms)}ms`;
  // One unit in a column of many: tenths of a second can be compared at a glance.
  const seconds = (ms) => `${(ms / 1000).toLocaleString("ko-KR", { minimumFractionDigits: 1, maximumFractionDigits: 1 })}초`;
  // A step of 1, 2 or 5 times a power of ten, at most five of them up to `most`.
  function stepOf(most) {
    for (let power = 1; ; power *= 10) for (const factor of [1, 2, 5]) if (power * factor * 5 >= most) return power * factor;
  }
  function make(tag, className, ...children) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }
  function mark(kind) {
    const space = document.querySelector("svg").namespaceURI;
    const svg = document.createElementNS(space, "svg"), use = document.createElementNS(space, "use");
    svg.setAttribute("class", `mark k${kind}`);
    svg.setAttribute("width", "14");
    svg.setAttribute("height", "14");
    svg.setAttribute("aria-hidden", "true");
    use.setAttribute("href", `#m${kind}`);
    svg.append(use);
    return svg;
  }
  // A name in small letters breaks behind its joints.
  function codeOf(name) {
    const code = make("code");
    name.split(/(?<=[_./-])/).forEach((part, index) => code.append(...(index ? [document.createElement("wbr"), part] : [part])));
    return code;
  }
  const agentName = (run) => run.agent === null ? WORDS.nobody : data.names[run.agent];
  const toolNames = (run) => run.tools.map((tool) => data.names[tool]);
  const isDismissed = (run) => run.found !== undefined && run.found.every((finding) => finding.review === "dismissed");

  // What a run is found by: made when it is first asked for.
  function haystack(run) {
    if (run.hay === undefined) {
      const found = (run.found || []).flatMap((finding) => [data.texts[finding.says], finding.args || "", ...finding.calls.map(([id]) => id)]);
      const notes = (run.notes || []).map((note) => data.texts[note]);
      run.hay = [run.id, agentName(run), ...toolNames(run), labels[run.v], data.texts[run.says], ...found, ...notes].join("\n").toLowerCase();
    }
    return run.hay;
  }

  // ---- state and the fragment ----
  function readHash() {
    const next = { ...DEFAULTS };
    for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
      if (key in DEFAULTS) next[key] = value;
    }
    return next;
  }
  function writeHash() {
    const parts = new URLSearchParams();
    for (const [key, value] of Object.entries(state)) if (value !== DEFAULTS[key]) parts.set(key, value);
    const hash = parts.toString();
    try { history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search); } catch { location.hash = hash; }
  }

  // ---- filter and sort ----
  function fits(run) {
    const kinds = [run.v, ...(run.also || [])];
    if (state.verdict === "attention" ? run.v === NORMAL : state.verdict !== "all" && !kinds.includes(slugs.indexOf(state.verdict))) return false;
    if (state.agent && agentName(run) !== state.agent) return false;
    if (state.tool && !toolNames(run).includes(state.tool)) return false;
    const day = run.at.slice(0, 10);
    if ((state.from && day < state.from) || (state.to && day > state.to)) return false;
    return state.q.toLowerCase().split(/\s+/).every((word) => haystack(run).includes(word));
  }
  const order = new Intl.Collator("ko");
  const KEYS = {
    time: (a, b) => a.at < b.at ? -1 : a.at > b.at ? 1 : 0,
    verdict: (a, b) => a.v - b.v,
    agent: (a, b) => order.compare(agentName(a), agentName(b)),
    tool: (a, b) => order.compare(toolNames(a)[0] || "", toolNames(b)[0] || ""),
    calls: (a, b) => a.calls - b.calls,
    ms: (a, b) => a.ms - b.ms,
  };
  function apply() {
    const compare = KEYS[state.sort] || KEYS.time, sign = state.dir === "asc" ? 1 : -1;
    // Equal ones stay newest first.
    found = runs.filter(fits).sort((a, b) => sign * compare(a, b));
    rows.replaceChildren();
    drawn = 0;
    draw(PAGE);
    const [before, count] = WORDS.count(found.length, runs.length);
    status.replaceChildren(...(found.length ? [before, make("b", "", count)] : [before, make("b", "", count), ` · ${WORDS.none}`]));
    const chosen = ["q", "verdict", "agent", "tool", "from", "to"].filter((name) => state[name]);
    status.append(make("span", "only-print", ` · ${WORDS.chosen}: ${chosen.map((name) => fields[name].selectedOptions ? fields[name].selectedOptions[0].text : state[name]).join(", ")}`));
    for (const th of table.tHead.rows[0].cells) {
      if (th.dataset.sort === state.sort) th.setAttribute("aria-sort", state.dir === "asc" ? "ascending" : "descending");
      else th.removeAttribute("aria-sort");
    }
    for (const tile of document.querySelectorAll(".tile")) {
      const current = tile.dataset.verdict === state.verdict;
      tile.setAttribute("aria-current", current);
      // Pressed once more it lets go.
      tile.setAttribute("href", current ? "#" : `#verdict=${tile.dataset.verdict}`);
    }
  }
  function showFields() {
    for (const name of ["q", "verdict", "agent", "tool", "from", "to"]) fields[name].value = state[name];
  }
  function show() {
    showFields();
    apply();
    if (state.run) open(state.run, false);
  }

  // ---- rows ----
  function draw(count) {
    const part = document.createDocumentFragment();
    for (const run of found.slice(drawn, drawn + count)) part.append(row(run));
    drawn = Math.min(found.length, drawn + count);
    rows.append(part);
    more.hidden = drawn >= found.length;
    more.textContent = WORDS.more(found.length - drawn);
  }
  function figure(head, text) {
    const td = make("td", "n", text);
    td.dataset.head = head;
    return td;
  }
  function row(run) {
    const button = make("button", "open-run", mark(run.v), make("span", "", labels[run.v]));
    button.type = "button";
    button.setAttribute("aria-expanded", "false");
    const says = make("p", "says", data.texts[run.says]);
    const what = make("td", "what", button, says);
    if (run.also) button.append(make("span", "also", make("span", "", WORDS.with), ...run.also.flatMap((kind) => [mark(kind), make("span", "hidden", labels[kind])])));
    if (isDismissed(run)) button.append(make("span", "tag", WORDS.dismissed));
    const names = toolNames(run), shown = names.slice(0, 3);
    const tools = make("span", "tools", ...shown.map(codeOf));
    if (names.length > shown.length) tools.append(make("span", "more-tools", WORDS.tools(names.length - shown.length)));
    const end = run.ok ? null : make("span", "error", WORDS.failed);
    const tr = make("tr", `run`, make("td", "when", run.at.slice(0, 10), make("span", "", run.at.slice(11))), what,
      make("td", "agent-cell", agentName(run), end), make("td", "tools-cell", tools), figure(WORDS.calls, number(run.calls)), figure(WORDS.took, seconds(run.ms)));
    tr.dataset.run = run.id;
    return tr;
  }
  const rowOf = (id) => rows.querySelector(`tr.run[data-run="${CSS.escape(id)}"]`);

  function open(id, focus) {
    close(false);
    const at = found.findIndex((run) => run.id === id);
    if (at < 0) return;
    if (at >= drawn) draw(at + 1 - drawn);
    const tr = rowOf(id), button = tr.querySelector(".open-run");
    const panel = make("tr", "panel", panelOf(found[at]));
    panel.id = "panel";
    tr.after(panel);
    tr.classList.add("open");
    button.setAttribute("aria-expanded", "true");
    button.setAttribute("aria-controls", "panel");
    state.run = id;
    writeHash();
    if (focus) button.focus();
    else tr.scrollIntoView({ block: "nearest" });
  }
  function close(focus) {
    const panel = $("panel");
    if (!panel) return;
    const tr = panel.previousElementSibling, button = tr.querySelector(".open-run");
    panel.remove();
    tr.classList.remove("open");
    button.setAttribute("aria-expanded", "false");
    button.removeAttribute("aria-controls");
    state.run = "";
    writeHash();
    if (focus) button.focus();
  }

  // ---- what a run rests on ----
  function panelOf(run) {
    const cell = make("td", "");
    cell.colSpan = 6;
    const ids = make("p", "ids", make("span", "", `${WORDS.trace} `, make("code", "", run.id)),
      make("span", "", make("code", "", `taco-trace explain ${run.id.slice(0, 16)}`)));
    cell.append(ids);
    const left = make("div", "column"), right = make("div", "column");
    if (run.found) {
      left.append(make("h3", "", WORDS.evidence), ...run.found.map((finding, index) => findingOf(finding, index + 1)));
    }
    if (run.fix) right.append(make("h3", "", WORDS.fix), make("p", "where-to-fix", run.fix));
    if (run.draft !== undefined) right.append(make("h3", "", WORDS.draft), ...draftOf(data.drafts[run.draft]));
    if (run.notes) right.append(make("h3", "", WORDS.notes), make("ul", "notes", ...run.notes.map((note) => make("li", "", data.texts[note]))));
    if (left.childNodes.length && right.childNodes.length) cell.append(make("div", "split", left, right));
    else cell.append(left, right);
    if (run.spans.length) cell.append(make("h3", "", WORDS.spans), fallOf(run));
    return cell;
  }
  function findingOf(finding, place) {
    const head = make("h4", "", make("span", "no", WORDS.no(place)), make("span", "", mark(finding.v), " ", labels[finding.v]), codeOf(data.names[finding.tool]));
    if (finding.review) head.append(make("span", "tag", WORDS[finding.review]));
    const facing = make("table", "facing",
      make("thead", "", make("tr", "", ...[WORDS.item, WORDS.recorded, WORDS.defined].map((text) => {
        const th = make("th", "", text);
        th.scope = "col";
        return th;
      }))),
      make("tbody", "", ...finding.rows.map((cells) => make("tr", "", ...cells.map((text) => make("td", "", text))))));
    const calls = make("ul", "calls", ...finding.calls.map(([id, took, state]) =>
      make("li", "", make("code", "", id), make("span", "", took), make("span", state === "error" ? "bad" : "", state))));
    const box = make("div", `finding k${finding.v}${finding.review === "dismissed" ? " dismissed" : ""}`, head, facing, calls);
    if (finding.args !== undefined) box.append(make("p", "args", `${WORDS.args} ${finding.args}`));
    if (finding.schema !== undefined) box.append(folded(WORDS.schema, data.texts[finding.schema]));
    if (finding.cells.length) box.append(folded(WORDS.cells, finding.cells.join("\n")));
    return box;
  }
  function folded(title, text) {
    return make("details", "", make("summary", "", title), make("pre", "", text));
  }
  function draftOf([title, lines]) {
    const kinds = { "+": "plus", "-": "minus", " ": "same" };
    const shown = lines.map(([sign, text]) => make("p", kinds[sign], make("span", "", sign), make("span", "", text)));
    return [make("p", "draft-title", title), make("div", "draft", ...shown)];
  }
  function fallOf(run) {
    const total = Math.max(1, ...run.spans.map((span) => span[5] + span[6]));
    const step = stepOf(total), ticks = [];
    for (let at = 0; at <= total; at += step) {
      const tick = make("span", "", at === 0 ? "0" : step < 100 ? exact(at) : seconds(at));
      tick.style.left = `${100 * at / total}%`;
      ticks.push(tick);
    }
    const box = make("div", "fall", make("div", "line axis", make("span"), make("span", "track", ...ticks), make("span")));
    box.style.setProperty("--step", `${100 * step / total}%`);
    for (const [depth, isTool, name, id, isOk, offset, took, found, args] of run.spans) {
      const numbers = found.map((finding) => make("span", "no", WORDS.no(finding)));
      const what = make("span", `what d${Math.min(depth, 4)}`, isTool ? codeOf(name === null ? WORDS.nobody : data.names[name]) : make("b", "", name === null ? WORDS.nobody : data.names[name]), ...numbers, make("code", "id", id));
      const bar = make("span", "bar");
      // Through the object model: the policy of the page allows no style attribute.
      bar.style.left = `${Math.min(99.5, 100 * offset / total)}%`;
      bar.style.width = `${100 * took / total}%`;
      const end = make("span", "took", make("b", "", isOk ? exact(took) : `${exact(took)} error`), make("span", "", WORDS.after(offset)));
      const line = make("div", `line${isTool ? "" : " agent"}${isOk ? "" : " bad"}${found.length ? " evidence" : ""}`, what, make("span", "track", bar), end);
      if (args !== null) line.append(make("span", "args", args));
      box.append(line);
    }
    if (run.cut) box.append(make("p", "cut", run.cut));
    return box;
  }

  // ---- the page listens ----
  function options(select, first, values) {
    select.replaceChildren(...first.concat(values).map(([value, text]) => {
      const option = make("option", "", text);
      option.value = value;
      return option;
    }));
  }
  const distinct = (names) => [...new Set(names)].sort(order.compare).map((name) => [name, name]);
  const hasUnjudged = runs.some((run) => run.v === UNJUDGED);
  options(fields.verdict, [["attention", hasUnjudged ? WORDS.attentionMore : WORDS.attention], ["all", WORDS.all]], slugs.map((slug, kind) => [slug, labels[kind]]).filter(([slug]) => slug !== "unjudged" || hasUnjudged));
  options(fields.agent, [["", WORDS.allAgents]], distinct(runs.map(agentName)));
  options(fields.tool, [["", WORDS.allTools]], distinct(runs.flatMap(toolNames)));
  for (const name of ["from", "to"]) {
    fields[name].min = data.first || "";
    fields[name].max = data.last || "";
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    state[event.target.name] = event.target.value;
    state.run = "";
    apply();
    writeHash();
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    state = { ...DEFAULTS, sort: state.sort, dir: state.dir };
    show();
    writeHash();
  });
  table.tHead.addEventListener("click", (event) => {
    const th = event.target.closest("th");
    if (!th) return;
    const key = th.dataset.sort, first = key === "verdict" || key === "agent" || key === "tool" ? "asc" : "desc";
    state.dir = state.sort !== key ? first : state.dir === "asc" ? "desc" : "asc";
    state.sort = key;
    apply();
    if (state.run) open(state.run, false);
    writeHash();
  });
  rows.addEventListener("click", (event) => {
    const tr = event.target.closest("tr.run");
    // Marking text in a row is no click on it.
    if (!tr || String(getSelection())) return;
    if (tr.classList.contains("open")) close(true);
    else open(tr.dataset.run, true);
  });
  rows.addEventListener("keydown", (event) => {
    const button = event.target.closest(".open-run");
    if (!button || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
    const all = [...rows.querySelectorAll(".open-run")];
    const next = all[all.indexOf(button) + (event.key === "ArrowDown" ? 1 : -1)];
    if (next) { event.preventDefault(); next.focus(); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && $("panel")) { event.preventDefault(); close(true); }
  });
  more.addEventListener("click", () => draw(PAGE));
  if ("IntersectionObserver" in window) {
    const watcher = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting) || more.hidden) return;
      draw(PAGE);
      // Looked at anew: on a high screen it may be in sight still.
      watcher.unobserve(more);
      watcher.observe(more);
    }, { rootMargin: "600px" });
    watcher.observe(more);
  }
  addEventListener("hashchange", () => {
    const bare = location.hash.slice(1);
    // `#runs` of the skip link is a place and no state.
    if (bare && !bare.includes("=")) return;
    const from = document.activeElement;
    state = readHash();
    show();
    if (from && from.matches("a[href^='#']") && !from.matches(".tile")) $("runs").scrollIntoView();
  });
  addEventListener("beforeprint", () => draw(Math.max(0, PRINTED - drawn)));

  const theme = $("theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  function showTheme() {
    theme.textContent = isDark() ? WORDS.light : WORDS.dark;
    theme.setAttribute("aria-pressed", isDark());
  }
  try { const kept = localStorage.getItem("taco-trace-theme"); if (kept) document.documentElement.dataset.theme = kept; } catch { /* Not every browser keeps things for files. */ }
  theme.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try { localStorage.setItem("taco-trace-theme", next); } catch { /* As above. */ }
    showTheme();
  });
  dark.addEventListener("change", showTheme);
  $("print").addEventListener("click", () => print());

  state = readHash();
  form.hidden = false;
  table.hidden = false;
  showTheme();
  show();
  document.documentElement.dataset.ready = "true";
})();
