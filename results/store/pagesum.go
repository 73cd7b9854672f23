// Pagesum gives every page of an SQLite file a checksum, and a file one
// writer, whatever names it has.
//
//  1. Create makes an empty file whose pages end in eight bytes that SQLite leaves
//     alone: a mark and a CRC-32C of the page and its number.
//  2. VFS names a layer over the system's own file access (a VFS, in SQLite's words)
//     that sets the checksum of each page as it is written to such a file, and checks
//     it as it is read. A page that does not match is SQLITE_IOERR_DATA.
//  3. A writer locks the file itself, by device and inode, and marks its first page
//     until it has closed it.
//  4. Scan checks a whole file, and Log the write-ahead log beside it.
//
// Files without such bytes are read and written as they are.

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/ncruces/go-sqlite3"
)

// pageSize is the size of a page in bytes.
const pageSize = 4096

// pageReserve is how many bytes at the end of a page are ours.
const pageReserve = 8

// secondName is the result code of opening a file whose last
// writer did not close it and used another name, where the file still has one.
const secondName = sqlite3.PROTOCOL

var table = crc32.MakeTable(crc32.Castagnoli)

// sum is of page n, from 1, with its mark.
func sum(n uint32, page []byte) uint32 {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return crc32.Update(crc32.Update(0, table, b[:]), table, page[:pageSize-4])
}

// set writes mark and checksum into a page.
func set(n uint32, page []byte, mark uint32) {
	binary.BigEndian.PutUint32(page[pageSize-8:], mark)
	binary.BigEndian.PutUint32(page[pageSize-4:], sum(n, page))
}

func whole(n uint32, page []byte) bool {
	return binary.BigEndian.Uint32(page[pageSize-4:]) == sum(n, page)
}

// bare says that a page has no checksum: another program has written it.
func bare(page []byte) bool { return binary.BigEndian.Uint64(page[pageSize-8:]) == 0 }

// markOf is the mark of a file that is written to under a name; never 0.
func markOf(name string) uint32 { return crc32.Checksum([]byte(name), table) | 1 }

const magic = "SQLite format 3\x00"

// has says whether the first page, or as much as there is of it, is of a file with
// checksums.
func has(first []byte) bool {
	return len(first) >= 21 && string(first[:16]) == magic && first[20] == pageReserve
}

// create makes an empty file at path, readable to its owner alone. An empty file
// that is there is taken; one that is not empty is left as it is.
func create(path string) error {
	// Not one that is in use: closing it would end SQLite's locks on it.
	if st, err := os.Stat(path); err == nil && st.Size() > 0 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.Size() > 0 || !st.Mode().IsRegular() {
		return err
	}
	// As https://sqlite.org/fileformat2.html has it.
	p := make([]byte, pageSize)
	copy(p, magic)
	binary.BigEndian.PutUint16(p[16:], pageSize)
	p[18], p[19] = 2, 2 // a write-ahead log
	p[20] = pageReserve
	p[21], p[22], p[23] = 64, 32, 32
	binary.BigEndian.PutUint32(p[24:], 1) // change counter
	binary.BigEndian.PutUint32(p[28:], 1) // pages
	binary.BigEndian.PutUint32(p[44:], 4) // schema format
	binary.BigEndian.PutUint32(p[56:], 1) // UTF-8
	binary.BigEndian.PutUint32(p[92:], 1) // the change counter that belongs to the next
	binary.BigEndian.PutUint32(p[96:], 3050000)
	p[100] = 0x0d // an empty leaf: no tables
	binary.BigEndian.PutUint16(p[105:], pageSize-pageReserve)
	set(1, p, 0)
	if _, err := f.Write(p); err != nil {
		// What is too short to be a file is none.
		return errors.Join(err, f.Truncate(0))
	}
	return f.Sync()
}

// scanned is what Scan found.
type scanned struct {
	Sums  bool  // pages have checksums; false: the rest is not known
	Pages int64 // in the file
	// Bad are pages, from 1, that do not match their checksum.
	Bad []int64
	// Bare is how many pages have no checksum, though others have: another program
	// has written them.
	Bare int64
	// Rest is how many bytes follow the last whole page.
	Rest int64
}

// scan checks the pages of a file. Nothing may write to it meanwhile.
func scan(r io.Reader) (scanned, error) {
	var out scanned
	page := make([]byte, pageSize)
	for n := uint32(1); ; n++ {
		got, err := io.ReadFull(r, page)
		if err == io.EOF {
			return out, nil
		}
		if n == 1 {
			out.Sums = has(page[:got])
		}
		if err == io.ErrUnexpectedEOF {
			out.Rest = int64(got)
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out.Pages++
		switch {
		case !out.Sums || whole(n, page):
		case bare(page):
			out.Bare++
		default:
			out.Bad = append(out.Bad, int64(n))
		}
	}
}

// logDamage is damage to a write-ahead log that SQLite would take for its end: what
// follows would be lost in silence.
type logDamage struct {
	Frame int // from 1; 0: the log's head
	Lost  int // transactions that follow
}

func (d *logDamage) Error() string {
	if d.Frame == 0 {
		return "the head of its write-ahead log does not match its checksum"
	}
	return fmt.Sprintf("frame %d of its write-ahead log does not match its checksum, and %d transactions follow it", d.Frame, d.Lost)
}

const (
	logHead   = 32
	frameHead = 24
)

// log checks the write-ahead log at path; no log is a whole one. It may be written
// to meanwhile. A last transaction that breaks off is what a power cut leaves, and
// no damage: each was durable before the next began. Damage is a *logDamage.
func log(path string) error {
	const tries = 3 // a log that begins anew under our eyes looks damaged
	var last error
	for range tries {
		f, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		var before, after [logHead]byte
		_, _ = f.ReadAt(before[:], 0)
		last = readLog(f)
		_, _ = f.ReadAt(after[:], 0)
		f.Close()
		if last == nil || before == after {
			return last
		}
	}
	return last
}

func readLog(r io.Reader) error {
	head := make([]byte, logHead)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil // shorter than its head: nothing was written yet
	}
	order := binary.ByteOrder(binary.LittleEndian)
	switch binary.BigEndian.Uint32(head) {
	case 0x377f0682:
	case 0x377f0683:
		order = binary.BigEndian
	default:
		return headOf(r)
	}
	var c chain
	c.add(order, head[:24])
	if size := binary.BigEndian.Uint32(head[8:]); !c.is(head[24:]) || size != pageSize {
		return headOf(r)
	}
	frame := make([]byte, frameHead+pageSize)
	bad, commits := 0, 0
	for n := 1; ; n++ {
		if _, err := io.ReadFull(r, frame); err != nil {
			break
		}
		same := string(frame[8:16]) == string(head[16:24]) // the salt of this log
		commit := binary.BigEndian.Uint32(frame[4:]) != 0
		if bad == 0 {
			c.add(order, frame[:8])
			c.add(order, frame[frameHead:])
			if same && c.is(frame[16:]) {
				continue
			}
			if bad = n; !same {
				// The end of this log, where an older one's frames begin, or a damaged
				// salt: then this log goes on behind it.
				continue
			}
		}
		if same && commit {
			commits++
		}
	}
	// The first that follows may be the end of the one that broke off.
	if commits > 1 {
		return &logDamage{bad, commits - 1}
	}
	return nil
}

// headOf is the damage of a log whose head is bad, where anything follows it.
func headOf(r io.Reader) error {
	if n, _ := io.CopyN(io.Discard, r, frameHead+pageSize); n == frameHead+pageSize {
		return &logDamage{}
	}
	return nil
}

// chain is the running checksum of a log.
type chain struct{ a, b uint32 }

func (c *chain) add(order binary.ByteOrder, b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		c.a += order.Uint32(b) + c.b
		c.b += order.Uint32(b[4:]) + c.a
	}
}

func (c *chain) is(b []byte) bool {
	return binary.BigEndian.Uint32(b) == c.a && binary.BigEndian.Uint32(b[4:]) == c.b
}
