// A service of the Payment scheme on loopback, which sells a report through the official server's own code.
import http from "node:http";

export const SECRET = "test-secret-not-real-0123456789abcdef";
export const REALM = "api.example.test";

/**
 * Answers what `handle` of mppx makes of each request. `seller.fault` is what it does once money was asked for: `cut` breaks the connection after
 * settling, `challenge` answers with a fresh challenge after settling, `sit` keeps the credential and answers with a fresh challenge. `headersOf`
 * may change the headers that leave. Gives the address of the report, and what stops it.
 */
export async function serve(seller, handle, { clock, headersOf = (headers) => headers }) {
  const server = http.createServer(async (req, res) => {
    const credential = req.headers.authorization;
    if (credential) seller.credentials.push(credential);
    else seller.asked += 1;
    const ask = (headers) => handle(new Request(`${origin()}${req.url}`, { headers }));
    const sits = credential && seller.fault === "sit";
    const answer = await ask(credential && !sits ? { authorization: credential } : {});
    if (credential && seller.fault === "cut") return req.socket.destroy();
    const again = credential && seller.fault === "challenge" ? await ask({}) : answer;
    const response = again.status === 402 ? again.challenge : again.withReceipt(new Response("the report"));
    res.writeHead(response.status, { ...headersOf(Object.fromEntries(response.headers)), date: new Date(clock() * 1000).toUTCString() });
    res.end(Buffer.from(await response.arrayBuffer()));
  });
  const origin = () => `http://127.0.0.1:${server.address().port}`;
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `${origin()}/report`, stop: () => (server.closeAllConnections(), server.close()) };
}
