// Package terminal prints for people what commands found: tables and lines.
package terminal
