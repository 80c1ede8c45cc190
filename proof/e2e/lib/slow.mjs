// A slow network between the browser and the gateway, WebSockets included: each
// direction carries so many bytes a second, and everything arrives later.
import { createServer, connect } from "node:net";

/** Listens on a free port; set target to the port that connections lead to. */
export async function slowNetwork({ bytesPerSecond, delay }) {
  const sockets = new Set();
  const network = { target: 0, url: "", close };
  const lanes = { up: { free: 0 }, down: { free: 0 } }; // shared by all connections, as a phone's are
  const server = createServer((near) => {
    const far = connect(network.target, "localhost");
    carry(near, far, lanes.up);
    carry(far, near, lanes.down);
  });

  /** Hands on what from receives, when the lane has carried it; reads no more meanwhile. */
  function carry(from, to, lane) {
    sockets.add(from);
    from.on("error", () => to.destroy());
    from.on("close", () => sockets.delete(from));
    from.on("data", (chunk) => {
      const now = performance.now();
      lane.free = Math.max(lane.free, now) + (1000 * chunk.length) / bytesPerSecond;
      const wait = lane.free - now;
      from.pause();
      setTimeout(() => from.resume(), wait);
      setTimeout(() => to.destroyed || to.write(chunk), wait + delay);
    });
    from.on("end", () => setTimeout(() => to.end(), Math.max(0, lane.free - performance.now()) + delay));
  }

  async function close() {
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => server.close(done));
  }
  await new Promise((done) => server.listen(0, "localhost", done));
  network.url = `http://localhost:${server.address().port}`;
  return network;
}
