package store

import (
	"encoding/binary"
	"os"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Writer is the parameter of a file's URI for the one connection that writes.
const Writer = "assay_writer=1"

// VFS registers the layer, once, and is the parameter of a file's URI that names it.
func VFS() string { return register() }

const vfsName = "assay"

// hasSums says whether the file of this name, which is open through the layer, has
// checksums.
func hasSums(name string) bool {
	register()
	kept.mu.RLock()
	defer kept.mu.RUnlock()
	for _, f := range kept.files {
		if f.name == name && f.sums {
			return true
		}
	}
	return false
}

// SQLite knows a layer by name for as long as the process lives, and calls it with
// addresses: what they stand for is kept here.
var register = sync.OnceValue(func() string {
	tls := libc.NewTLS()
	defer tls.Close()
	under := sqlite3.Xsqlite3_vfs_find(tls, 0)
	if under == 0 {
		panic("store: internal error: SQLite has no VFS")
	}
	name, err := libc.CString(vfsName)
	if err != nil {
		panic("store: internal error: " + err.Error())
	}
	l := &layer{under: under, open: at[sqlite3.Tsqlite3_vfs](under).FxOpen, files: map[uintptr]*file{}}
	l.xOpen, l.xClose, l.xRead, l.xWrite, l.xTraits = l.opened, l.close, l.read, l.write, l.traits
	ours := pagesumReserve[sqlite3.Tsqlite3_vfs](tls) // for as long as the process lives
	if ours == 0 {
		panic("store: internal error: no memory for a VFS")
	}
	vfs := at[sqlite3.Tsqlite3_vfs](ours)
	*vfs = *at[sqlite3.Tsqlite3_vfs](under)
	vfs.FpNext, vfs.FzName = 0, name
	vfs.FxOpen = *(*uintptr)(unsafe.Pointer(&l.xOpen))
	if rc := sqlite3.Xsqlite3_vfs_register(tls, ours, 0); rc != sqlite3.SQLITE_OK {
		panic("store: internal error: SQLite took no VFS")
	}
	kept = l
	return "vfs=" + vfsName
})

var kept *layer // what SQLite points to is not to be collected

// pagesumReserve asks for room outside of Go's memory, where everything lies that SQLite is
// given the address of: to follow one into Go's own is what the race detector's
// pointer check ends a program for. 0: there is none.
func pagesumReserve[T any](tls *libc.TLS) uintptr {
	var t T
	return libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(t)))
}

// at is what lies at an address that SQLite gave.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

func bytesAt(p uintptr, n int) []byte { return unsafe.Slice(at[byte](p), n) }

// call makes a function of an address, as SQLite's own code does.
func call[F any](p uintptr) F {
	s := struct{ uintptr }{p}
	return *(*F)(unsafe.Pointer(&s))
}

type (
	openFunc  = func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32
	closeFunc = func(*libc.TLS, uintptr) int32
	ioFunc    = func(*libc.TLS, uintptr, uintptr, int32, int64) int32
	sizeFunc  = func(*libc.TLS, uintptr, uintptr) int32
)

// layer stands over the system's VFS.
type layer struct {
	under uintptr
	open  uintptr

	xOpen         openFunc
	xClose        closeFunc
	xRead, xWrite ioFunc
	xTraits       closeFunc

	mu    sync.RWMutex
	files map[uintptr]*file // by SQLite's address of them
}

// file is an open database.
type file struct {
	methods uintptr // the system's
	room    uintptr // of a room: what SQLite is given addresses in
	name    string
	writer  bool
	sums    bool
	lenient bool   // pages without a checksum are taken: another program has written some
	mark    uint32 // of the first page on the disk
	page    []byte // the room's
}

// room is what of a file lies outside of Go's memory.
type room struct {
	ours sqlite3.Tsqlite3_io_methods
	page [pageSize]byte
	size int64
}

func (f *file) under() *sqlite3.Tsqlite3_io_methods {
	return at[sqlite3.Tsqlite3_io_methods](f.methods)
}

func (l *layer) of(p uintptr) *file {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.files[p]
}

func (l *layer) opened(tls *libc.TLS, _, zName, p uintptr, flags int32, out uintptr) int32 {
	rc := call[openFunc](l.open)(tls, l.under, zName, p, flags, out)
	if rc != sqlite3.SQLITE_OK || flags&sqlite3.SQLITE_OPEN_MAIN_DB == 0 || zName == 0 {
		return rc
	}
	f := &file{methods: at[sqlite3.Tsqlite3_file](p).FpMethods, name: libc.GoString(zName), room: pagesumReserve[room](tls)}
	key, err := libc.CString("assay_writer")
	if err != nil || f.room == 0 {
		call[closeFunc](f.under().FxClose)(tls, p)
		at[sqlite3.Tsqlite3_file](p).FpMethods = 0
		return sqlite3.SQLITE_NOMEM
	}
	f.page = at[room](f.room).page[:]
	f.writer = sqlite3.Xsqlite3_uri_boolean(tls, zName, key, 0) != 0
	libc.Xfree(tls, key)
	if rc = f.begin(tls, p); rc != sqlite3.SQLITE_OK {
		if f.writer {
			unlock(p)
		}
		call[closeFunc](f.under().FxClose)(tls, p)
		at[sqlite3.Tsqlite3_file](p).FpMethods = 0
		libc.Xfree(tls, f.room)
		return rc
	}
	ours := &at[room](f.room).ours
	*ours = *f.under()
	ours.FxClose = *(*uintptr)(unsafe.Pointer(&l.xClose))
	if f.sums {
		ours.FxRead, ours.FxWrite = *(*uintptr)(unsafe.Pointer(&l.xRead)), *(*uintptr)(unsafe.Pointer(&l.xWrite))
		ours.FxDeviceCharacteristics = *(*uintptr)(unsafe.Pointer(&l.xTraits))
		ours.FiVersion = min(ours.FiVersion, 2) // no pages past our reading
	}
	l.mu.Lock()
	l.files[p] = f
	l.mu.Unlock()
	at[sqlite3.Tsqlite3_file](p).FpMethods = f.room // its first field: the methods
	return sqlite3.SQLITE_OK
}

// begin locks a writer's file, and finds out how its last writer left it.
func (f *file) begin(tls *libc.TLS, p uintptr) int32 {
	if f.writer && !lock(p) {
		return sqlite3.SQLITE_BUSY
	}
	first := f.page
	if rc := f.get(tls, p, 0); rc != sqlite3.SQLITE_OK {
		if rc == sqlite3.SQLITE_IOERR_SHORT_READ {
			return sqlite3.SQLITE_OK // SQLite will say what it makes of it
		}
		return rc
	}
	if f.sums = has(first); !f.sums {
		return sqlite3.SQLITE_OK
	}
	f.mark = binary.BigEndian.Uint32(first[pageSize-8:])
	st, err := os.Stat(f.name + "-wal")
	logged := err == nil && st.Size() > 0
	// The last writer did not close it, or another program wrote its first page.
	left := f.mark != 0 || bare(first)
	if left && !logged && f.mark != markOf(f.name) && links(p) > 1 {
		return secondName
	}
	// What was in the log another program has taken into the file, without checksums.
	f.lenient = left && !logged
	if !f.writer {
		return sqlite3.SQLITE_OK
	}
	if f.lenient {
		if rc := f.resum(tls, p); rc != sqlite3.SQLITE_OK {
			return rc
		}
		f.lenient = false
	}
	return f.stamp(tls, p, markOf(f.name))
}

// stamp marks the first page, unless that is damaged: reading it will say so.
func (f *file) stamp(tls *libc.TLS, p uintptr, mark uint32) int32 {
	page := f.page
	if rc := f.get(tls, p, 0); rc != sqlite3.SQLITE_OK || !whole(1, page) {
		return rc
	}
	set(1, page, mark)
	rc := f.putReserve(tls, p, 0)
	if rc == sqlite3.SQLITE_OK {
		f.mark = mark
		rc = call[func(*libc.TLS, uintptr, int32) int32](f.under().FxSync)(tls, p, sqlite3.SQLITE_SYNC_NORMAL)
	}
	return rc
}

// resum gives pages that another program wrote their checksums.
func (f *file) resum(tls *libc.TLS, p uintptr) int32 {
	if rc := call[sizeFunc](f.under().FxFileSize)(tls, p, f.room+unsafe.Offsetof(room{}.size)); rc != sqlite3.SQLITE_OK {
		return rc
	}
	page := f.page
	for n := uint32(1); int64(n)*pageSize <= at[room](f.room).size; n++ {
		off := int64(n-1) * pageSize
		if rc := f.get(tls, p, off); rc != sqlite3.SQLITE_OK {
			return rc
		}
		if !bare(page) || empty(page) {
			continue
		}
		set(n, page, 0)
		if rc := f.putReserve(tls, p, off); rc != sqlite3.SQLITE_OK {
			return rc
		}
	}
	return sqlite3.SQLITE_OK
}

// empty says that a page holds nothing: it was never used, or it is lost.
func empty(page []byte) bool {
	for _, b := range page {
		if b != 0 {
			return false
		}
	}
	return true
}

// get reads the page at off into f.page.
func (f *file) get(tls *libc.TLS, p uintptr, off int64) int32 {
	return call[ioFunc](f.under().FxRead)(tls, p, f.room+unsafe.Offsetof(room{}.page), pageSize, off)
}

// putReserve writes the end of f.page to the page at off.
func (f *file) putReserve(tls *libc.TLS, p uintptr, off int64) int32 {
	return call[ioFunc](f.under().FxWrite)(tls, p, f.room+unsafe.Offsetof(room{}.page)+pageSize-pageReserve, pageReserve, off+pageSize-pageReserve)
}

func (l *layer) close(tls *libc.TLS, p uintptr) int32 {
	f := l.of(p)
	l.mu.Lock()
	delete(l.files, p)
	l.mu.Unlock()
	if f.writer {
		// By now the log is folded into the file and gone, unless somebody reads there.
		if _, err := os.Stat(f.name + "-wal"); os.IsNotExist(err) && f.sums {
			_ = f.stamp(tls, p, 0) // a mark that stays costs the next writer a look at all pages
		}
		unlock(p)
	}
	at[sqlite3.Tsqlite3_file](p).FpMethods = f.methods
	libc.Xfree(tls, f.room)
	return call[closeFunc](f.under().FxClose)(tls, p)
}

// traits are those of the system's file, but that whole pages are read: a part has
// no checksum.
func (l *layer) traits(tls *libc.TLS, p uintptr) int32 {
	return call[closeFunc](l.of(p).under().FxDeviceCharacteristics)(tls, p) &^ sqlite3.SQLITE_IOCAP_SUBPAGE_READ
}

func (l *layer) read(tls *libc.TLS, p, buf uintptr, n int32, off int64) int32 {
	f := l.of(p)
	rc := call[ioFunc](f.under().FxRead)(tls, p, buf, n, off)
	if n < 512 {
		return rc // of the head alone
	}
	if rc == sqlite3.SQLITE_IOERR_SHORT_READ || rc == sqlite3.SQLITE_OK && (n != pageSize || off%pageSize != 0) {
		return sqlite3.SQLITE_IOERR_DATA // cut, or the head tells another size of page
	}
	if rc != sqlite3.SQLITE_OK {
		return rc
	}
	page := bytesAt(buf, pageSize)
	number := uint32(off/pageSize) + 1
	if !whole(number, page) && !(f.lenient && bare(page) && !empty(page)) {
		return sqlite3.SQLITE_IOERR_DATA
	}
	// What goes into the log from here has none: programs that know nothing of
	// checksums may fold it into the file, and what they write must not look damaged.
	binary.BigEndian.PutUint64(page[pageSize-8:], 0)
	return sqlite3.SQLITE_OK
}

func (l *layer) write(tls *libc.TLS, p, buf uintptr, n int32, off int64) int32 {
	f := l.of(p)
	if n != pageSize || off%pageSize != 0 {
		return call[ioFunc](f.under().FxWrite)(tls, p, buf, n, off)
	}
	page := bytesAt(buf, pageSize)
	number, mark := uint32(off/pageSize)+1, uint32(0)
	if number == 1 {
		mark = f.mark
	}
	set(number, page, mark)
	rc := call[ioFunc](f.under().FxWrite)(tls, p, buf, n, off)
	binary.BigEndian.PutUint64(page[pageSize-8:], 0)
	return rc
}
