// Package wallets proves to the gateway the age of the holders of wallets that
// others wrote, and answers it as misbehaving wallets do. Its tests write the
// table in docs/wallets.md, which says what was tried.
package wallets
