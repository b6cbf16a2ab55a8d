"""An agent that rgx trains: a program that asks the model itself, by OpenAI's API.

    environment: {agent: [python3, examples/agents/guess.py]}

rgx starts it once for each dialogue. OPENAI_BASE_URL and OPENAI_API_KEY lead to the model, whose
answers are trained on; the first line of stdin is the problem. It needs `pip install openai`.
"""

import json
import re
import sys

from openai import OpenAI

problem = json.loads(sys.stdin.readline())  # {"row": {...}, "seed": ..., "example": ...}
client = OpenAI()
secret = 1 + problem["seed"] % 15
messages = [{"role": "user", "content": "Guess my number from 1 to 15."}]
guesses, found = 0, False

while not found and guesses < 6:
    answer = client.chat.completions.create(model="policy", messages=messages).choices[0].message
    guesses += 1
    number = re.search(r"\d+", answer.content or "")
    found = number is not None and int(number[0]) == secret
    low = number is not None and int(number[0]) < secret
    messages.append({"role": "assistant", "content": answer.content})
    messages.append({"role": "user", "content": "higher" if low else "lower"})

# The last line may give a reward. Without it, the rewards of the configuration judge the last
# answer of the model, or the "answer" that stands here.
print(json.dumps({"reward": 1 / guesses if found else 0, "metrics": {"found": int(found)}}))
