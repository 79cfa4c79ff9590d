// A process that uploads one file, so that its memory can be measured apart from that of the test.
// It gets {target, path, options}, tells its progress, and at the end the most memory that it had, in bytes.

import { once } from "node:events";

import { uploadFile } from "../dist/index.js";
import { openFile } from "../dist/node.js";

const [{ target, path, options }] = await once(process, "message");
await uploadFile(target, await openFile(path), { ...options, onProgress: (sent, total) => process.send({ sent, total }) });
process.send({ most: process.resourceUsage().maxRSS * 1024 });
process.disconnect();
