// The search of the handbook: all words of the question must be in a passage, whole or as beginnings of words.

const most = 12;

// search shows what the words in input lead to, as a list below it.
export function search(input, results) {
  let records; // loaded when somebody begins to search
  let at = -1;
  const load = () => (records ??= fetch(input.dataset.index).then((r) => r.json()).then((all) => all.map(prepare)));

  const show = async () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.length ? best(await load(), words) : [];
    at = -1;
    results.replaceChildren(...found.map((r, i) => entry(r, words, i, input.dataset.suffix)));
    if (words.length && !found.length) {
      results.append(Object.assign(document.createElement("li"), { className: "none", textContent: "Nothing has all of these words." }));
    }
    results.hidden = !words.length;
    input.setAttribute("aria-expanded", String(!results.hidden));
    input.removeAttribute("aria-activedescendant");
  };

  const select = (next) => {
    const all = [...results.querySelectorAll("[role=option]")];
    if (!all.length) return;
    at = (next + all.length) % all.length;
    all.forEach((e, i) => e.setAttribute("aria-selected", String(i === at)));
    all[at].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", all[at].id);
  };

  input.addEventListener("focus", load, { once: true });
  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") select(at + 1);
    else if (event.key === "ArrowUp") select(at - 1);
    else if (event.key === "Enter") results.querySelectorAll("a")[Math.max(at, 0)]?.click();
    else if (event.key === "Escape") {
      results.hidden = true;
      input.blur();
    } else return;
    event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".search") || event.target.closest("#results a")) results.hidden = true;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest("input, textarea, select")) {
      event.preventDefault();
      input.focus();
    }
  });
}

function prepare(record) {
  return { ...record, low: { title: record.title.toLowerCase(), heading: (record.heading ?? "").toLowerCase(), words: record.words.toLowerCase() } };
}

// best returns the records with all words, those with words in headings first.
function best(records, words) {
  return records.map((record) => ({ record, score: score(record.low, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ record }) => record);
}

function score(low, words) {
  let sum = 0;
  for (const word of words) {
    const here = value(low.heading, word, 8) + value(low.title, word, 5) + value(low.words, word, 1);
    if (!here) return 0;
    sum += here;
  }
  return sum;
}

// value is more for a whole word than for its beginning, and that is more than the middle of one.
function value(text, word, weight) {
  const at = text.indexOf(word);
  if (at < 0) return 0;
  const begins = at === 0 || !/\w/.test(text[at - 1]);
  const ends = !/\w/.test(text[at + word.length] ?? " ");
  return weight * (begins ? (ends ? 3 : 2) : 1);
}

function entry(record, words, number, suffix) {
  const item = document.createElement("li");
  item.id = `result-${number}`;
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", "false");
  const link = Object.assign(document.createElement("a"), { href: record.page + suffix + (record.anchor ? `#${record.anchor}` : ""), tabIndex: -1 });
  const title = document.createElement("strong");
  title.textContent = record.heading ? `${record.title} › ${record.heading}` : record.title;
  link.append(title, excerpt(record, words));
  item.append(link);
  return item;
}

// excerpt shows the words around the first match.
function excerpt(record, words) {
  const line = document.createElement("span");
  const first = Math.max(0, ...words.map((w) => record.low.words.indexOf(w)));
  const from = first < 60 ? 0 : record.words.indexOf(" ", first - 50) + 1;
  const text = (from ? "… " : "") + record.words.slice(from, from + 140) + (record.words.length > from + 140 ? " …" : "");
  const pattern = new RegExp(`(${words.map((w) => w.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|")})`, "giu");
  text.split(pattern).forEach((part, i) => {
    line.append(i % 2 ? Object.assign(document.createElement("mark"), { textContent: part }) : part);
  });
  return line;
}
