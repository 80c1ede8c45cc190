// The search of the documentation: over the index that the gateway serves, in the
// browser.

/**
 * A section of a page, or with `name` a field or an error. With `lang` it is in another language than English.
 * @typedef {{ title: string, page: string, url: string, text: string, name?: boolean, lang?: string }} Entry
 */

/**
 * What is found of an entry, with the part of its text that matches.
 * @typedef {{ title: string, page: string, url: string, before: string, match: string, after: string, lang?: string }} Found
 */

const maxWords = 6; // of a query
const maxFound = 50;
const hereFirst = 8; // of the score
const around = 70; // characters of the text that are shown on each side of a match

// Words that say nothing about what is looked for.
export const fillers = new Set(
  `a an and are but can did do does example examples for he how i in is it my of on or our
  says she the this to we what when where who why with das dem den der die ein eine einem einen er es
  ich im ist mein meine mit sie und von was wie wurde`.split(/\s+/));

/**
 * Words by which people look for what these pages call otherwise.
 * @type {Record<string, string | undefined>}
 */
export const synonyms = {
  "2fa": "authenticator", accuracy: "passes", alkohol: "alcohol", altersnachweis: "proofs",
  altersprüfung: "jugendschutzgesetz", avv: "processor", bias: "group", breach: "rotate", buyer: "shopper",
  ccpa: "gdpr", chargeback: "refund", child: "minors", children: "minors", cnil: "gdpr", colour: "group",
  csharp: "languages", customer: "shopper", datenschutz: "privacy", deepfake: "spoof", demo: "sample",
  desktop: "computer", deutschland: "germany", django: "python", dotnet: "languages", dpa: "processor",
  driver: "driving", dsfa: "dpia", dsgvo: "gdpr", duration: "takes", ecig: "vapes", eid: "wallet", email: "mail",
  embed: "iframe", embedded: "iframe", factura: "invoice", facture: "invoice", fairness: "group", fast: "takes",
  fehler: "error", flask: "python", forgot: "lost", forgotten: "forgot", frankreich: "france", free: "costs",
  guthaben: "costs", hosting: "debian", https: "tls", impressum: "imprint", ios: "iphone", italia: "italy",
  italien: "italy", itsme: "bankid", kid: "minors", kids: "minors", knife: "knives", kosten: "costs",
  kotlin: "languages", laravel: "php", leaked: "rotate", license: "licence", lizenz: "licence", login: "log",
  messer: "knives", minor: "minors", monitor: "metrics", much: "costs", multi: "several", nederland: "netherlands",
  ngrok: "localhost", niederlande: "netherlands", parental: "minors", password: "log", passwort: "log",
  pc: "computer", permission: "role", precio: "costs", preis: "costs", prix: "costs", race: "group", racism: "group",
  rails: "ruby", rechnung: "invoice", regulator: "evidence", remboursement: "refund", reset: "recovery",
  retention: "stored", rgpd: "gdpr", rust: "languages", scam: "genuine", schlüssel: "key", schweiz: "switzerland",
  selfie: "camera", sicherung: "backup", signin: "log", skin: "group", slow: "takes", spanien: "spain",
  speed: "takes", sprache: "language", ssl: "tls", stolen: "rotate", symfony: "php", tabak: "tobacco",
  tablet: "phone", teenager: "minors", testmodus: "outcome", tier: "costs", timing: "takes", translate: "language",
  translation: "language", underage: "minors", update: "upgrade", vaping: "vapes", vin: "wine", vps: "debian",
  wcag: "accessibility", wein: "wine", zahlung: "payment", zertifikat: "certificate", österreich: "austria",
};

/**
 * The entries of the index, which lack the page and the path of the entry before, and in their address what the title says.
 * @param {(Partial<Entry> & { title: string, text: string })[]} index @returns {Entry[]}
 */
export function entriesOf(index) {
  let [last, path] = ["", ""];
  return index.map(({ page = last, url = "", ...entry }) => {
    const [anchor, own = path] = url.split("#").reverse();
    [last, path] = [page, own];
    return { ...entry, page, url: `${path}#${anchor || entry.title.replace(/^(\d{3}): .*$/, "$1").toLowerCase().replaceAll(" ", "-").replace(/[^\p{L}\p{N}_-]/gu, "")}` };
  });
}

/**
 * The entries with those of a translation first, and its texts, which the index lacks, from its page in Markdown.
 * @param {Entry[]} entries @param {string} path @param {string} source
 */
export function translated(entries, path, source) {
  const own = entries.filter(({ url }) => url.startsWith(`${path}#`));
  const text = (/** @type {string} */ title) => source.split(`# ${title}\n`)[1]?.split("\n#")[0].replace(/\]\([^)]*\)|-{3,}|[[*`|]|^> /gm, "").replace(/\s+/g, " ").trim() ?? "";
  return [...own.map((entry) => ({ ...entry, text: text(entry.title) })), ...entries.filter((entry) => !own.includes(entry))];
}

const word = /c#|[\p{L}\p{N}_]+/giu; // such as status_at, or C#
const dotted = /\p{L}+\.\p{L}+/gu; // such as Next.js, which is nextjs, too

/** @param {string} text @returns {string[]} */
const wordsOf = (text) => text.toLowerCase().match(word) ?? [];

/** The stem of a word in German. @param {string} w */
const germanStem = (w) => w.replace(/(?<=.{4})(ungen|ung|en|er|es|em|e|t|n)$/u, "");

/** Whether two words in German have one stem, or the first is a compound that ends with the second. @param {string} asked @param {string} w */
const akin = (asked, w) => w.length > 4 && (asked === w || asked.endsWith(w));

// How well a word matches a word of a query. A middle, even of a title, is less than a beginning.
const [typo, inside, prefix, exact] = [1, 1.4, 3, 4];

/** How well a word matches one that is asked for, or 0. @param {string} asked @param {string} w */
function grade(asked, w) {
  if (w === asked) return exact;
  if (w.startsWith(asked)) return prefix;
  if (asked.length > 3 && w.includes(asked)) return inside;
  // Of a short word only a letter may be missing: a cart is no part, and Spain no span.
  return asked.length > 4 && (asked.length > 5 || w.length > 5) && isTypo(asked, w) ? typo : 0;
}

/**
 * Whether one change makes a word of another: a letter more, less or replaced, or two
 * neighbours exchanged.
 * @param {string} a @param {string} b
 */
function isTypo(a, b) {
  if (a.length > b.length) [a, b] = [b, a];
  if (b.length - a.length > 1) return false;
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  if (a.length < b.length) return a.slice(i) === b.slice(i + 1);
  return a.slice(i + 1) === b.slice(i + 1) || (a[i] === b[i + 1] && a[i + 1] === b[i] && a.slice(i + 2) === b.slice(i + 2));
}

/** Other forms of a word: its stem, and the word of these pages for it. @param {string} asked */
function formsOf(asked) {
  const stem = asked.replace(/(?<=.{4})(ing|ies|ly|ed|es|s)$/u, "");
  return [stem === asked ? undefined : stem, synonyms[asked] ?? synonyms[stem]].filter((form) => form !== undefined);
}

/** How well an entry matches a query so far. */
const none = { words: 0, grades: 0, inTitle: 0, title: 0, first: "" };

export class Index {
  /**
   * @param {Entry[]} entries with those first that are shown first of equals @param {string} [own] language of who asks
   * @param {string} [here] page whose sections come first
   */
  constructor(entries, own = "en", here = "") {
    this.entries = entries;
    this.here = `${here}#`;
    this.own = own;
    /** @type {Map<string, Map<number, boolean>>} of each word the entries with it, and whether their titles have it */
    this.words = new Map();
    for (const [i, { title, page, text }] of entries.entries()) {
      for (const [part, inTitle] of /** @type {const} */ ([[`${page} ${text}`, false], [title, true]])) {
        for (const w of [...wordsOf(part), ...(part.toLowerCase().match(dotted) ?? []).map((w) => w.replace(".", ""))]) this.words.set(w, (this.words.get(w) ?? new Map()).set(i, inTitle));
      }
    }
  }

  /**
   * The entries that match most words of a query, the best first, and after those of four words those of three. Those whose text has all of it, as of a title with a capital, come alone.
   * @param {string} query @returns {Found[]}
   */
  search(query) {
    const all = wordsOf(query);
    const telling = all.filter((w) => !fillers.has(w));
    /** @type {Map<number, typeof none>} */
    const hits = new Map();
    for (const asked of (telling.length ? telling : all).slice(0, maxWords)) {
      for (const [i, best] of this.#matches(asked)) {
        const hit = hits.get(i) ?? none;
        hits.set(i, { words: hit.words + 1, grades: hit.grades + best.grades, inTitle: hit.inTitle + best.inTitle, title: hit.title + best.title, first: hit.first || best.first });
      }
    }
    const said = query.trim().replace(/[.?!…]+$/u, "");
    if (/^\p{Lu}.* /u.test(said)) {
      for (const [i, { text }] of this.entries.entries()) if (text.includes(said)) hits.set(i, { ...(hits.get(i) ?? none), words: maxWords + 1 });
    }
    const most = Math.max(...[...hits.values()].map(({ words }) => words));
    return [...hits]
      .filter(([, { words }]) => words === most || words === 3 && most === 4)
      .map(([i, hit]) => ({ i, hit, score: score(this.entries[i], hit, this.own) + (this.entries[i].url.startsWith(this.here) ? hereFirst : 0) }))
      .sort((a, b) => b.hit.words - a.hit.words || b.score - a.score || a.i - b.i)
      .slice(0, maxFound)
      .map(({ i, hit }) => shown(this.entries[i], hit.first));
  }

  /**
   * The entries with a word like the one that is asked for, or like another form of it,
   * which must begin the word and is not as good as the word itself. Words one typo away
   * count only if no other word matches.
   * @param {string} asked
   */
  #matches(asked) {
    const forms = formsOf(asked);
    const stem = germanStem(asked);
    const like = [...this.words]
      .map(([w, at]) => ({ w, at, grade: Math.max(grade(asked, w), ...forms.map((form) => (w.startsWith(form) ? grade(form, w) - 1 : 0))), german: akin(stem, germanStem(w)) && [...at.keys()].some((i) => this.entries[i].lang) ? inside : 0 }));
    const least = like.some(({ grade, german }) => Math.max(grade, german) > typo) ? inside : typo;
    /** @type {Map<number, typeof none>} */
    const best = new Map();
    for (const { w, at, grade: own, german } of like) {
      if (Math.max(own, german) < least) continue;
      for (const [i, inTitle] of at) {
        const grade = this.entries[i].lang ? Math.max(own, german) : own;
        if (grade < least) continue;
        const old = best.get(i) ?? none;
        const title = inTitle ? grade : 0;
        if (grade + title > old.grades + old.title) best.set(i, { words: 1, grades: grade, inTitle: Number(inTitle), title, first: w });
      }
    }
    return best;
  }
}

/**
 * Higher the better an entry matches. The title of a section counts as much as its
 * text. A name counts only as a whole: who asks for "webhook" does not ask for the
 * header webhook-id. What is in another language comes after what is as good in one's own.
 * @param {Entry} entry @param {typeof none} hit @param {string} own
 */
function score({ title, name, lang = "en" }, hit, own) {
  if (lang !== own) return hit.grades + hit.title - 5 * hit.words;
  return hit.grades + (name && hit.inTitle < Math.min(wordsOf(title).length, maxWords) ? 0 : hit.title);
}

/**
 * An entry with the part of its text around a word, or with the beginning if only its
 * title has the word.
 * @param {Entry} entry @param {string} w @returns {Found}
 */
export function shown({ title, page, url, text, lang }, w) {
  const at = [...text.matchAll(word)].find(([found]) => found.toLowerCase() === w);
  if (!at) return { title, page, url, lang, before: "", match: "", after: cut(text) };
  let before = text.slice(0, at.index);
  if (before.length > around) before = `… ${before.slice(-around).replace(/^\S* /u, "")}`;
  return { title, page, url, lang, before, match: at[0], after: cut(text.slice(at.index + at[0].length), around) };
}

/** The beginning of a text, with whole words only where it has spaces. @param {string} text @param {number} [limit] */
export function cut(text, limit = 2 * around) {
  if (text.length <= limit) return text;
  const short = text.slice(0, limit);
  const end = short.lastIndexOf(" ");
  return `${end > 0 ? short.slice(0, end) : short} …`;
}
