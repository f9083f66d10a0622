// InfluxDB's own client for JavaScript, as its users write with it.
//
// Arguments: the address, what to do, and a prefix of the sensors' ids.

const { InfluxDB, Point, HttpError, setLogger } = require("@influxdata/influxdb-client");

const SECONDS = 1777629600;
const PRECISIONS = { ns: "000000000", us: "000000", ms: "000", s: "" };

// It would log each refusal; the test reads them by other ways.
setLogger({ error() {}, warn() {} });

const [address, what, prefix] = process.argv.slice(2);
const influx = new InfluxDB({ url: address, token: "t" });
const point = (sensor) => new Point("plant").tag("sensor", sensor).floatField("temp", 24.25);

async function values(options) {
  for (const [precision, zeros] of Object.entries(PRECISIONS)) {
    const api = influx.getWriteApi("acme", "plant", precision, options);
    api.writePoint(point(`${prefix}-${precision}`).timestamp(`${SECONDS}${zeros}`));
    await api.close();
  }
  const api = influx.getWriteApi("acme", "plant", "ms", options);
  api.writePoint(point(`${prefix}-date`).timestamp(new Date(SECONDS * 1000)));
  api.writePoint(point(`${prefix}-untimed`).timestamp(""));
  api.writePoint(
    point(`${prefix}-fields`)
      .intField("n", 5)
      .uintField("u", 7)
      .booleanField("on", true)
      .stringField("note", "text")
      .timestamp(SECONDS * 1000),
  );
  await api.close();
}

async function batches() {
  const written = [];
  const options = { batchSize: 300, flushInterval: 0, writeSuccess: (lines) => written.push(lines.length) };
  const api = influx.getWriteApi("acme", "plant", "s", options);
  for (let n = 0; n < 1000; n++) {
    const record = new Point("plant").tag("sensor", `${prefix}-batched`).floatField("temp", n / 8);
    api.writePoint(record.timestamp(SECONDS + n));
  }
  // It does not wait for batches that are under way: the process does.
  await api.close();
  process.on("exit", () => console.log(JSON.stringify(written.sort())));
}

async function fault() {
  const api = influx.getWriteApi("acme", "plant", "s");
  api.writeRecord(`plant,sensor=${prefix}-part temp=24.25 ${SECONDS}`);
  api.writeRecord(`plant,sensor=${prefix}-part temp=NaN 1`);
  try {
    await api.close();
  } catch (error) {
    const { statusCode, code, message } = error;
    console.log(JSON.stringify([error instanceof HttpError, statusCode, code, message]));
  }
}

async function unavailable() {
  const write = (options) => {
    const api = influx.getWriteApi("acme", "plant", "s", options);
    api.writePoint(point(`${prefix}-again`).timestamp(SECONDS));
    return api;
  };
  try {
    await write({ maxRetries: 0 }).close();
  } catch (error) {
    console.log(JSON.stringify([error.statusCode, error.code, error.retryAfter() > 0, error.canRetry()]));
  }
  const api = write({
    maxRetries: 5,
    writeFailed(error) {
      console.log(`again ${error.statusCode}`);
    },
    writeSuccess() {
      console.log("written");
    },
  });
  // What failed stays in its buffer and is sent when Retry-After has passed.
  await api.flush().catch(() => {});
  process.on("beforeExit", () => api.dispose());
}

const todo = {
  values: () => values({}),
  gzip: () => values({ gzipThreshold: 1 }),
  batches,
  fault,
  unavailable,
};
todo[what]().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
