// Follows a state that the server keeps: when it changes, the page is loaded
// again and shows what it led to.

/** Time between two looks at the server, in milliseconds. */
const pause = 2000;

/**
 * Looks at the state every two seconds for as long as the page is open.
 * @param {string} url answers {"state": …}
 * @param {string} shown the state that the page shows
 */
export function follow(url, shown) {
  setTimeout(async () => {
    try {
      const answer = await fetch(url, { cache: "no-store" });
      const { state } = await answer.json();
      if (state !== shown) {
        location.replace(location.pathname);
        return;
      }
    } catch {
      // No network or no answer: the next look may have one.
    }
    follow(url, shown);
  }, pause);
}
