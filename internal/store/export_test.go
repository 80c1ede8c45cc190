package store

// Exec runs any statement, to bring a test's database into a state that the
// gateway itself never creates.
func (tx *Tx) Exec(statement string, args ...any) error {
	return tx.db.Exec(statement, args...).Error
}

// Count returns the single number a query selects.
func (tx *Tx) Count(query string, args ...any) (n int64, err error) {
	return n, tx.db.Raw(query, args...).Scan(&n).Error
}
