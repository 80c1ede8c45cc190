// Answers the orders of a test, one line of JSON each: the names of methods of
// the wallet, and its documents by name.
import { createInterface } from "node:readline";
import "./install.mjs";

const { Wallet, issue, refusalOf } = await import("./wallet.mjs");

const documents = new Map();

const orders = {
  issue: async ({ name, ...about }) => {
    documents.set(name, await issue(about));
    return {};
  },
  answer: ({ wallet, link }) => open(wallet).answer(link),
  read: ({ picture }) => Wallet.scan(Buffer.from(picture, "base64")),
  scan: ({ wallet, picture }) => open(wallet).answer(Wallet.scan(Buffer.from(picture, "base64"))),
  decline: ({ wallet, link }) => open(wallet).decline(link),
  present: ({ wallet, requests, origin, protocols }) => open(wallet).present(requests, origin, protocols),
};

const open = ({ document, ...about }) => new Wallet({ document: documents.get(document), ...about });

for await (const line of createInterface({ input: process.stdin })) {
  const { order, ...about } = JSON.parse(line);
  let answer;
  try {
    answer = { answer: await orders[order](about) };
  } catch (error) {
    const refusal = refusalOf(error);
    answer = refusal ? { refused: refusal.message } : { failed: `${error.stack}\n${error.cause?.stack ?? ""}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
