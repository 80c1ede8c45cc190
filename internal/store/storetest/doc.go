// Package storetest tests the store against the contracts that the domain's
// interfaces state, on every database.
package storetest
