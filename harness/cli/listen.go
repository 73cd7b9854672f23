package cli

import (
	"github.com/urfave/cli/v2"

	"assay/results/viewer"
)

// listenFlags say where pages are shown, and to whom.
func listenFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "listen", Value: "127.0.0.1:0", Usage: "serve at this `ADDRESS`, host:port; port 0 takes a free one; a host other than this machine lets others in"},
		&cli.StringFlag{Name: "tls-cert", Usage: "the `FILE` with a certificate, as PEM", TakesFile: true},
		&cli.StringFlag{Name: "tls-key", Usage: "the `FILE` with its key, as PEM", TakesFile: true},
		&cli.StringFlag{Name: "proxy", Usage: "the `ADDRESS` at which a proxy with TLS shows the pages, https://host"},
	}
}

// listen is what these flags say; who comes from elsewhere needs a token, unless the
// pages have a sign-in of their own.
func listen(c *cli.Context, signIn bool) (viewer.Options, error) {
	o := viewer.Options{Listen: c.String("listen"), Cert: c.String("tls-cert"), Key: c.String("tls-key"), Proxy: c.String("proxy"), SignIn: signIn, Insecure: c.Bool("insecure")}
	if !signIn && !o.Loopback() {
		o.Token = viewer.NewToken()
	}
	if err := o.Check(); err != nil {
		return o, usage("%s: %w", c.Command.Name, err)
	}
	return o, nil
}
