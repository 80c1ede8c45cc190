// Package wallets proves to the gateway the age of the holders of wallets that
// others wrote, and answers it as misbehaving wallets do. Its tests write the
// table in results.md, which says what was tried; docs/wallets.md sums it up.
package wallets
