// Prints the rows of a Parquet file as JSON lines, each row a list in the order of the
// columns; the first line is their names. A 64-bit integer is {"int": "..."}.
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } from 'hyparquet'

const file = await asyncBufferFromFile(process.argv[2])
const metadata = await parquetMetadataAsync(file)
const names = parquetSchema(metadata).children.map(c => c.element.name)
const out = [JSON.stringify(names)]
for (const row of await parquetReadObjects({ file, metadata })) {
  out.push(JSON.stringify(names.map(n => typeof row[n] === 'bigint' ? { int: row[n].toString() } : row[n] ?? null)))
}
process.stdout.write(out.join('\n') + '\n')
