package store

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// Writer is the parameter of a file's URI for the one connection that writes.
const Writer = "assay_writer=1"

const vfsName = "assay"

// VFS registers the layer, once, and is the parameter of a file's URI that names it.
func VFS() string {
	files()
	return "vfs=" + vfsName
}

// files are those that are open through the layer. SQLite knows a layer by name for as
// long as the process lives.
var files = sync.OnceValue(func() *layer {
	l := &layer{VFSFilename: vfs.Find("").(vfs.VFSFilename), open: map[*file]bool{}}
	vfs.Register(vfsName, l)
	return l
})

// hasSums says whether the file of this name, which is open through the layer, has
// checksums.
func hasSums(name string) bool {
	l := files()
	l.mu.Lock()
	defer l.mu.Unlock()
	for f := range l.open {
		if f.Name() == name && f.sums {
			return true
		}
	}
	return false
}

// layer stands over the system's VFS.
type layer struct {
	vfs.VFSFilename
	mu   sync.Mutex
	open map[*file]bool
}

// system is a file of the system's VFS: what of it the layer hands on.
type system interface {
	vfs.FileSharedMemory
	vfs.FileLockState
	vfs.FilePersistWAL
	vfs.FilePowersafeOverwrite
	vfs.FileSizeHint
	vfs.FileHasMoved
	Name() string
	Fd() uintptr
	Stat() (os.FileInfo, error)
}

// file is an open database.
type file struct {
	system
	layer   *layer
	writer  bool
	still   bool // nobody writes to it: nothing is made beside it
	sums    bool
	lenient bool   // pages without a checksum are taken: another program has written some
	mark    uint32 // of the first page on the disk
}

// OpenFilename opens a file. One that is not a database stays the system's.
func (l *layer) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if flags&vfs.OPEN_CREATE != 0 && flags&(vfs.OPEN_WAL|vfs.OPEN_MAIN_JOURNAL) != 0 {
		alike(name.String(), name.Database())
	}
	under, flags, err := l.VFSFilename.OpenFilename(name, flags)
	if err != nil || flags&vfs.OPEN_MAIN_DB == 0 || name.String() == "" {
		return under, flags, err
	}
	f := &file{system: under.(system), layer: l, writer: name.URIParameter("assay_writer") != "", still: name.URIParameter("immutable") != ""}
	if err := f.begin(); err != nil {
		if f.writer {
			unlock(f)
		}
		_ = under.Close()
		return nil, flags, err
	}
	l.mu.Lock()
	l.open[f] = true
	l.mu.Unlock()
	// The library puts checksums of its own into what it knows for a database.
	return f, flags &^ vfs.OPEN_MAIN_DB, nil
}

// alike makes the file at path, where it is missing, for those who may read the database: it
// holds parts of it. Where it cannot be made, SQLite will say so.
func alike(path, database string) {
	st, err := os.Stat(database)
	if err != nil {
		return
	}
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, st.Mode().Perm()); err == nil {
		_ = f.Close()
	}
}

// begin locks a writer's file, and finds out how its last writer left it.
func (f *file) begin() error {
	if f.writer && !lock(f) {
		return sqlite3.BUSY
	}
	first := make([]byte, pageSize)
	if n, err := f.system.ReadAt(first, 0); n < pageSize {
		if size, e := f.Size(); e == nil && size < pageSize {
			return nil // SQLite will say what it makes of it
		}
		return err
	}
	if first[18] == 2 && !f.still { // it has a write-ahead log
		alike(f.Name()+"-shm", f.Name())
	}
	if f.sums = has(first); !f.sums {
		return nil
	}
	f.mark = binary.BigEndian.Uint32(first[pageSize-8:])
	st, err := os.Stat(f.Name() + "-wal")
	logged := err == nil && st.Size() > 0
	// The last writer did not close it, or another program wrote its first page.
	left := f.mark != 0 || bare(first)
	if left && !logged && f.mark != markOf(f.Name()) && links(f) > 1 {
		return secondName
	}
	// What was in the log another program has taken into the file, without checksums.
	f.lenient = left && !logged
	if !f.writer {
		return nil
	}
	if f.lenient {
		if err := f.resum(); err != nil {
			return err
		}
		f.lenient = false
	}
	return f.stamp(markOf(f.Name()))
}

// stamp marks the first page, unless that is damaged: reading it will say so.
func (f *file) stamp(mark uint32) error {
	page := make([]byte, pageSize)
	if _, err := f.system.ReadAt(page, 0); err != nil || !whole(1, page) {
		return err
	}
	set(1, page, mark)
	if err := f.putReserve(page, 0); err != nil {
		return err
	}
	f.mark = mark
	return f.Sync(vfs.SYNC_NORMAL)
}

// resum gives pages that another program wrote their checksums.
func (f *file) resum() error {
	size, err := f.Size()
	if err != nil {
		return err
	}
	page := make([]byte, pageSize)
	for n := uint32(1); int64(n)*pageSize <= size; n++ {
		off := int64(n-1) * pageSize
		if _, err := f.system.ReadAt(page, off); err != nil {
			return err
		}
		if !bare(page) || empty(page) {
			continue
		}
		set(n, page, 0)
		if err := f.putReserve(page, off); err != nil {
			return err
		}
	}
	return nil
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

// putReserve writes the end of a page to the page at off.
func (f *file) putReserve(page []byte, off int64) error {
	_, err := f.system.WriteAt(page[pageSize-pageReserve:], off+pageSize-pageReserve)
	return err
}

// Close ends a writer's lock with the file.
func (f *file) Close() error {
	f.layer.mu.Lock()
	delete(f.layer.open, f)
	f.layer.mu.Unlock()
	if f.writer {
		// By now the log is folded into the file and gone, unless somebody reads there.
		if _, err := os.Stat(f.Name() + "-wal"); os.IsNotExist(err) && f.sums {
			_ = f.stamp(0) // a mark that stays costs the next writer a look at all pages
		}
		unlock(f)
	}
	return f.system.Close()
}

// DeviceCharacteristics are those of the system's file, but that whole pages are read: a part
// has no checksum.
func (f *file) DeviceCharacteristics() vfs.DeviceCharacteristic {
	all := f.system.DeviceCharacteristics()
	if f.sums {
		all &^= vfs.IOCAP_SUBPAGE_READ
	}
	return all
}

// ReadAt reads a page and checks it.
func (f *file) ReadAt(page []byte, off int64) (int, error) {
	n, err := f.system.ReadAt(page, off)
	if !f.sums || len(page) < 512 {
		return n, err // or of the head alone
	}
	if n < len(page) && (err == nil || errors.Is(err, io.EOF)) || n == len(page) && (n != pageSize || off%pageSize != 0) {
		return 0, sqlite3.IOERR_DATA // cut, or the head tells another size of page
	}
	if n < len(page) {
		return n, err
	}
	if !whole(uint32(off/pageSize)+1, page) && !(f.lenient && bare(page) && !empty(page)) {
		return 0, sqlite3.IOERR_DATA
	}
	// What goes into the log from here has none: programs that know nothing of
	// checksums may fold it into the file, and what they write must not look damaged.
	binary.BigEndian.PutUint64(page[pageSize-8:], 0)
	return n, nil
}

// WriteAt writes a page with its checksum.
func (f *file) WriteAt(page []byte, off int64) (int, error) {
	if !f.sums || len(page) != pageSize || off%pageSize != 0 {
		return f.system.WriteAt(page, off)
	}
	number, mark := uint32(off/pageSize)+1, uint32(0)
	if number == 1 {
		mark = f.mark
	}
	set(number, page, mark)
	n, err := f.system.WriteAt(page, off)
	binary.BigEndian.PutUint64(page[pageSize-8:], 0)
	return n, err
}
