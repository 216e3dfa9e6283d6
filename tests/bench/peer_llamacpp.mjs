// Seconds per token of llama.cpp, memory-mapped.   usage: node peer_llamacpp.mjs FILE.gguf PASSES
import {getLlama} from "node-llama-cpp";

const [, , modelPath, passes] = process.argv;
const llama = await getLlama({gpu: false, build: "never"});
const model = await llama.loadModel({modelPath, useMmap: true});
const context = await model.createContext({contextSize: 512, threads: 2});
const prompt = Array.from({length: 32}, (_, index) => index + 3);
const seconds = [];
let last = performance.now();
for await (const _ of context.getSequence().evaluate(prompt, {temperature: 0})) {
    const now = performance.now();
    seconds.push((now - last) / 1000);
    last = now;
    if (seconds.length > Number(passes)) break;
}
const decode = seconds.slice(1).sort((a, b) => a - b);
console.log(`s/token ${decode[decode.length >> 1].toFixed(5)}`);
process.exit(0);
