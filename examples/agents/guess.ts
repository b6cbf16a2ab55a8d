/**
 * An agent that rgx trains: a program that asks the model itself, by OpenAI's API.
 *
 *     environment: { agent: [deno, run, -A, examples/agents/guess.ts] }
 *
 * rgx starts it once for each dialogue. OPENAI_BASE_URL and OPENAI_API_KEY lead to the model, whose
 * answers are trained on; the first line of stdin is the problem. This agent needs no package.
 */
interface Message {
  role: string;
  content: string;
}

const problem: { seed: number } = JSON.parse(await new Response(Deno.stdin.readable).text());
const url = `${Deno.env.get("OPENAI_BASE_URL")}/chat/completions`;
const authorization = `Bearer ${Deno.env.get("OPENAI_API_KEY")}`;

async function ask(messages: readonly Message[]): Promise<Message> {
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ model: "policy", messages }),
  });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()).choices[0].message;
}

const secret = 1 + problem.seed % 15;
const messages: Message[] = [{ role: "user", content: "Guess my number from 1 to 15." }];
let guesses = 0, isFound = false;

while (!isFound && guesses < 6) {
  const answer = await ask(messages);
  guesses++;
  const guess = Number(/\d+/.exec(answer.content)?.[0]);
  isFound = guess === secret;
  messages.push(answer, { role: "user", content: guess < secret ? "higher" : "lower" });
}

// The last line may give a reward. Without it, the rewards of the configuration judge the last
// answer of the model, or the "answer" that stands here.
console.log(JSON.stringify({
  reward: isFound ? 1 / guesses : 0,
  metrics: { found: isFound ? 1 : 0 },
}));
