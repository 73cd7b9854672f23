package machine

import (
	"fmt"
	"io/fs"
	"net/netip"
	"testing/fstest"
)

// proc is a made-up /proc.
type proc struct {
	fstest.MapFS
	tcp string
}

func newProc() *proc {
	p := &proc{MapFS: fstest.MapFS{"self/ns/pid": link("pid:[4026531836]"), "net/tcp6": {}}}
	p.listen("", 0, "")
	return p
}

func link(to string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink} }

// listen adds a socket for connections; at is as Linux writes it.
func (p *proc) listen(at string, uid int, inode string) *proc {
	if at != "" {
		p.tcp += fmt.Sprintf("   0: %s 00000000:0000 0A 00000000:00000000 00:00000000 00000000  %4d        0 %s 1\n", at, uid, inode)
	}
	p.MapFS["net/tcp"] = &fstest.MapFile{Data: []byte("  sl  local_address rem_address   st\n" + p.tcp)}
	return p
}

// run adds a process; inode is of a socket that it holds, "" of none.
func (p *proc) run(pid, parent int, name string, started int, inode string) *proc {
	dir := fmt.Sprint(pid)
	p.MapFS[dir+"/stat"] = &fstest.MapFile{Data: fmt.Appendf(nil, "%d (%s) S %d 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 %d 1 1", pid, name, parent, started)}
	p.MapFS[dir+"/fd/0"] = link("/dev/null")
	if inode != "" {
		p.MapFS[dir+"/fd/3"] = link("socket:[" + inode + "]")
	}
	return p
}

func (p *proc) site() Site {
	return Site{Processes: NewTable(p.MapFS), Own: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("192.168.7.2")}}
}

const (
	loopback8080 = "0100007F:1F90"
)
