// Process tells the processes of a model's server from all others.
//
//  1. process.go looks at the processes of this machine: who listens on a port,
//     whose child a process is, and whether process numbers mean here what they mean
//     to a driver.
//  2. place.go finds where servers are.
//  3. claim.go decides which GPUs work for a model, and who is foreign there.
//
// It reads Linux's /proc and nothing else. Elsewhere, and where the kernel keeps
// something from this user, the answer is an error that says so.

package machine

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Process is one life of a process.
type Process struct {
	PID     int
	Parent  int
	Name    string // of its program, cut at 15 bytes by the kernel
	Started uint64 // clock ticks from the machine's start; with PID it names one process until the next start
}

// Same says whether p and o are one process, not two with the same number.
func (p Process) Same(o Process) bool { return p.PID == o.PID && p.Started == o.Started }

// ErrNobody is in the chain of Listener's error if no process of this network
// namespace listens there. A kernel that forwards a port (a container's) may still answer.
var ErrNobody = errors.New("nobody on this machine listens there")

// HiddenError is Listener's error if somebody listens there and this user may not
// see which process it is.
type HiddenError struct {
	UID int // whose socket it is
}

func (e *HiddenError) Error() string {
	return fmt.Sprintf("the process that listens there belongs to the user %d and cannot be seen by this one", e.UID)
}

// Table is the processes of a machine.
type Table struct {
	proc fs.FS
}

// NewTable is a table read from proc, the root of procfs.
func NewTable(proc fs.FS) Table { return Table{proc} }

// Processes is the table of this machine.
func Processes() Table { return NewTable(os.DirFS("/proc")) }

// hostPIDs is the number that the kernel gives the first PID namespace.
const hostPIDs = "pid:[4026531836]"

// OfHost says whether process numbers here are those that drivers use: not inside a
// container. false: they are not, or it cannot be told.
func (t Table) OfHost() bool {
	link, err := fs.ReadLink(t.proc, "self/ns/pid")
	return err == nil && link == hostPIDs
}

// Process looks up a process by its number.
func (t Table) Process(pid int) (Process, error) {
	stat, err := fs.ReadFile(t.proc, strconv.Itoa(pid)+"/stat")
	if err != nil {
		return Process{}, fmt.Errorf("process: %w", err)
	}
	// The name may hold spaces and brackets: it ends with the last one.
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return Process{}, fmt.Errorf("process: %d/stat holds %.40q: expected a number, a name in brackets and more", pid, stat)
	}
	p := Process{PID: pid, Name: string(stat[open+1 : end])}
	f := strings.Fields(string(stat[end+1:])) // the third field of proc(5) on
	if len(f) < 20 {
		return Process{}, fmt.Errorf("process: %d/stat has %d fields: expected 22 or more", pid, len(f)+2)
	}
	var err1, err2 error
	p.Parent, err1 = strconv.Atoi(f[1])
	p.Started, err2 = strconv.ParseUint(f[19], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return Process{}, fmt.Errorf("process: %d/stat: %w", pid, err)
	}
	return p, nil
}

// Stopped says whether a process, or one that it started, is stopped: by SIGSTOP, by
// the terminal or by a debugger. false: none is, or it cannot be seen, as of a frozen
// control group.
func (t Table) Stopped(pid int) bool { return t.stopped(pid, 8) }

func (t Table) stopped(pid, depth int) bool {
	dir := strconv.Itoa(pid)
	stat, err := fs.ReadFile(t.proc, dir+"/stat")
	if err != nil || depth == 0 {
		return false
	}
	if f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(f) > 0 && (string(f[0]) == "T" || string(f[0]) == "t") {
		return true
	}
	children, err := fs.ReadFile(t.proc, dir+"/task/"+dir+"/children") // of its first thread
	if err != nil {
		return false
	}
	for _, c := range strings.Fields(string(children)) {
		if n, err := strconv.Atoi(c); err == nil && t.stopped(n, depth-1) {
			return true
		}
	}
	return false
}

// Under says whether pid is ancestor, or was started by it or by one of its children.
// A child whose parent has ended belongs to nobody.
func (t Table) Under(pid, ancestor int) bool {
	for range 1 << 10 { // no longer chain exists; a table that changes meanwhile may show a circle
		if pid == ancestor {
			return pid > 0
		}
		p, err := t.Process(pid)
		if err != nil || p.Parent <= 0 {
			return false
		}
		pid = p.Parent
	}
	return false
}

// resolveWithin is how long a host's name is looked up.
const resolveWithin = 2 * time.Second

// Addresses are the IP addresses of a host: a name, an address with or without
// brackets, or localhost in any case. 0.0.0.0 and :: are where a client gets to that
// asks for them: this machine.
func Addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	if a, err := netip.ParseAddr(host); err == nil {
		a = a.Unmap().WithZone("")
		switch {
		case a == netip.IPv4Unspecified():
			a = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		case a == netip.IPv6Unspecified():
			return []netip.Addr{netip.IPv6Loopback(), netip.AddrFrom4([4]byte{127, 0, 0, 1})}, nil
		}
		return []netip.Addr{a}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, resolveWithin)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	for i := range all {
		all[i] = all[i].Unmap()
	}
	return all, nil
}

// Listener is the process that accepts TCP connections at address, HOST:PORT. Of
// several that share the socket it is the one that has run the longest, less
// those that only hold it for a service (systemd). The error is ErrNobody, a
// *HiddenError, or says what cannot be read.
func (t Table) Listener(ctx context.Context, address string) (Process, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return Process{}, fmt.Errorf("process: %w", err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return Process{}, fmt.Errorf("process: %q: expected a port of 1 to 65535", address)
	}
	ips, err := Addresses(ctx, host)
	if err != nil {
		return Process{}, err
	}
	all, err := t.sockets()
	if err != nil {
		return Process{}, err
	}
	for _, ip := range ips {
		for _, wild := range []bool{false, true} { // the kernel prefers the closer match, too
			var inodes []string
			uid := 0
			for _, s := range all {
				if s.at.Port() == uint16(n) && (s.at.Addr() == ip || wild && s.takes(ip)) {
					inodes, uid = append(inodes, s.inode), s.uid
				}
			}
			if len(inodes) == 0 {
				continue
			}
			if p, ok := t.owner(inodes); ok {
				return p, nil
			}
			return Process{}, &HiddenError{uid}
		}
	}
	return Process{}, fmt.Errorf("process: %s: %w", address, ErrNobody)
}

// socket is one on which somebody listens.
type socket struct {
	at    netip.AddrPort
	uid   int
	inode string
}

// takes says whether a socket for any address takes connections to ip.
func (s socket) takes(ip netip.Addr) bool {
	// Nearly every socket for any IPv6 address takes IPv4, too.
	return s.at.Addr().IsUnspecified() && (s.at.Addr().Is6() || ip.Is4())
}

// sockets are all on which somebody listens.
func (t Table) sockets() ([]socket, error) {
	var out []socket
	var first error
	read := 0
	for _, name := range []string{"net/tcp", "net/tcp6"} {
		b, err := fs.ReadFile(t.proc, name)
		if err != nil {
			if first == nil {
				first = fmt.Errorf("process: who listens cannot be read: %w", err)
			}
			continue
		}
		read++
		for line := range strings.Lines(string(b)) {
			if s, ok := parse(line); ok {
				out = append(out, s)
			}
		}
	}
	if read > 0 { // a machine without IPv6 has one of them
		first = nil
	}
	return out, first
}

const listening = "0A" // TCP_LISTEN

// parse reads a line of /proc/net/tcp or tcp6; false: nobody listens there, or it
// is the heading.
func parse(line string) (socket, bool) {
	f := strings.Fields(line)
	if len(f) < 10 || f[3] != listening {
		return socket{}, false
	}
	host, port, ok := strings.Cut(f[1], ":")
	raw, err1 := hex.DecodeString(host)
	n, err2 := strconv.ParseUint(port, 16, 16)
	uid, err3 := strconv.Atoi(f[7])
	if !ok || errors.Join(err1, err2, err3) != nil || len(raw) != 4 && len(raw) != 16 {
		return socket{}, false
	}
	for i := 0; i < len(raw); i += 4 { // words of the machine's own order
		binary.BigEndian.PutUint32(raw[i:], binary.NativeEndian.Uint32(raw[i:]))
	}
	a, _ := netip.AddrFromSlice(raw)
	return socket{netip.AddrPortFrom(a.Unmap(), uint16(n)), uid, f[9]}, true
}

// owner is who holds one of the sockets; false: nobody that this user may see.
func (t Table) owner(inodes []string) (Process, bool) {
	var links []string
	for _, n := range inodes {
		links = append(links, "socket:["+n+"]")
	}
	var found []Process
	dirs, _ := fs.ReadDir(t.proc, ".")
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		fds, _ := fs.ReadDir(t.proc, d.Name()+"/fd")
		if slices.ContainsFunc(fds, func(e fs.DirEntry) bool {
			link, err := fs.ReadLink(t.proc, d.Name()+"/fd/"+e.Name())
			return err == nil && slices.Contains(links, link)
		}) {
			if p, err := t.Process(pid); err == nil {
				found = append(found, p)
			}
		}
	}
	if len(found) == 0 {
		return Process{}, false
	}
	slices.SortFunc(found, func(a, b Process) int {
		holds := func(p Process) int { return map[bool]int{true: 1}[p.PID == 1 || p.Name == "systemd"] }
		if d := holds(a) - holds(b); d != 0 {
			return d
		}
		if a.Started != b.Started {
			return map[bool]int{true: -1, false: 1}[a.Started < b.Started]
		}
		return a.PID - b.PID
	})
	return found[0], true
}
