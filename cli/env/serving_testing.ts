/** For tests: an environment that is served as OpenEnv while something plays it. */
import { environmentOf } from "../../rewards/environments/open_environments.ts";
import { Sessions } from "./serve.ts";

/** @param code the object that its file exports @param most dialogues at the same time */
export async function served(
  folder: string,
  code: string,
  most: number,
  play: (port: number) => Promise<void>,
): Promise<void> {
  const path = `${folder}/served.ts`;
  await Deno.writeTextFile(path, `export default ${code};\n`);
  const environment = environmentOf({ path });
  const sessions = new Sessions(environment, await environment.open(), most, "127.0.0.1");
  const handler = (request: Request) => sessions.respond(request);
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, handler);
  try {
    await play(server.addr.port);
  } finally {
    sessions.close();
    await server.shutdown();
    await environment.close();
  }
}
