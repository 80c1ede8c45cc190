package crowd

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Size is the space that a table takes.
type Size struct {
	Table         string
	Rows          int64
	Data, Indexes int64 // bytes
}

// Sizes returns the sizes of Tables.
func Sizes(ctx context.Context, databaseURL string) ([]Size, error) {
	if path, ok := strings.CutPrefix(databaseURL, "sqlite:"); ok {
		return sizesOfSQLite(ctx, path)
	}
	db, err := sql.Open("pgx", databaseURL)
	if err != nil {
		return nil, err
	}
	sizes := make([]Size, len(Tables))
	for i, table := range Tables {
		s := &sizes[i]
		s.Table = table
		query := "SELECT (SELECT count(*) FROM " + table + "), pg_table_size($1::regclass), pg_indexes_size($1::regclass)"
		if err := db.QueryRowContext(ctx, query, table).Scan(&s.Rows, &s.Data, &s.Indexes); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return sizes, db.Close()
}

func sizesOfSQLite(ctx context.Context, path string) ([]Size, error) {
	// The sum of pgsize over a tree wraps around at 4 GiB; pageno is the number
	// of its pages.
	script := []string{`CREATE TEMP TABLE sizes AS SELECT tbl_name, name = tbl_name AS data, pageno * page_size AS pgsize
		FROM dbstat JOIN sqlite_schema USING (name) JOIN pragma_page_size WHERE aggregate = TRUE;`}
	for _, table := range Tables {
		script = append(script, fmt.Sprintf(`SELECT '%[1]s', (SELECT count(*) FROM %[1]s), coalesce(sum(pgsize) FILTER (WHERE data), 0),
			coalesce(sum(pgsize) FILTER (WHERE NOT data), 0) FROM sizes WHERE tbl_name = '%[1]s';`, table))
	}
	out, err := sqlite3(ctx, path, script...)
	if err != nil {
		return nil, err
	}
	var sizes []Size
	for line := range strings.Lines(out) {
		var s Size
		if _, err := fmt.Sscanf(strings.ReplaceAll(line, "|", " "), "%s %d %d %d", &s.Table, &s.Rows, &s.Data,
			&s.Indexes); err != nil {
			return nil, err
		}
		sizes = append(sizes, s)
	}
	return sizes, nil
}
