package machine

import (
	"fmt"
	"net/netip"
)

// inContainer makes process numbers mean nothing to drivers.
func (p *proc) inContainer() *proc {
	p.MapFS["self/ns/pid"] = link("pid:[4026532847]")
	return p
}

// end takes a process away.
func (p *proc) end(pid int) {
	for name := range p.MapFS {
		var n int
		if _, err := fmt.Sscanf(name, "%d/", &n); err == nil && n == pid {
			delete(p.MapFS, name)
		}
	}
}

func (p *proc) processSite() Site {
	return Site{Processes: NewTable(p.MapFS), Own: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("192.168.7.2")}}
}

const (
	any8080 = "00000000:1F90"
)
