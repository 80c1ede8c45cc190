package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agegate/internal/app"
	"agegate/internal/app/config"
	"agegate/internal/lab/demo"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// Files of the demo, in its data directory: that of --data, or defaultData, where commands that run beside it look.
const (
	defaultData     = "data"
	secretKeyFile   = "secret.key"
	databaseFile    = "agegate.db"
	credentialsFile = "demo-shop.json" //nolint:gosec // a file name
	settingsFile    = "demo-settings.json"
)

// Where the sample shop listens.
const (
	shopListenName    = "AGEGATE_SHOP_LISTEN"
	defaultShopListen = "localhost:8081"
)

func (c *cli) demoCommand() *cobra.Command {
	var dataDir, shopListen string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the gateway with a sample shop",
		Long: `Run the gateway with built-in defaults, and a sample shop. The first run
creates a secret key, a SQLite database and a demo tenant in the data directory;
later runs use them again. Not for production: it accepts http callback URLs and
lets webhooks reach this machine.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&dataDir, "data", defaultData, "directory for the key, the database and the shop's credentials")
	cmd.Flags().StringVar(&shopListen, "shop-listen", "", "address of the sample shop (default "+defaultShopListen+
		") ["+shopListenName+"]")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		given, _ := c.env(shopListenName)
		shopListen = cmp.Or(shopListen, strings.TrimSpace(given), defaultShopListen)
		if _, _, err := net.SplitHostPort(shopListen); err != nil {
			return errors.New(shopListenName + " must be host:port or :port, such as " + defaultShopListen)
		}
		if err := os.MkdirAll(dataDir, 0o700); err != nil {
			return err
		}
		cfg, err := c.loadDemo(dataDir)
		if err != nil {
			return err
		}
		return runDemo(cmd.Context(), cfg, dataDir, shopListen, cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return cmd
}

// loadDemo reads the configuration, with defaults for a single machine.
func (c *cli) loadDemo(dataDir string) (config.Config, error) {
	defaults := map[string]string{
		"AGEGATE_DATABASE_URL":             "sqlite:" + filepath.Join(dataDir, databaseFile),
		"AGEGATE_ALLOW_INSECURE_CALLBACKS": "true",
		"AGEGATE_WEBHOOK_ALLOW_NETS":       "127.0.0.0/8,::1/128",
		"AGEGATE_LOG_LEVEL":                "warn", // the terminal is for what to open
		config.LameDuckName:                "0s",
	}
	if given, _ := c.env(config.SecretKeyName); given == "" {
		key, err := demoSecretKey(dataDir)
		if err != nil {
			return config.Config{}, err
		}
		defaults[config.SecretKeyName] = key
	}
	cfg, err := c.loadOver(defaults, config.SecretKeyName)
	if err != nil {
		return cfg, err
	}
	return cfg, c.writeSettings(dataDir, defaults)
}

// writeSettings stores how the demo was started, without secrets, for demoDefaults.
func (c *cli) writeSettings(dataDir string, defaults map[string]string) error {
	settings := map[string]string{}
	for _, v := range config.Variables {
		value, ok := c.given(v.Name)
		if !ok {
			value = defaults[v.Name]
		}
		if value != "" && !v.Secret && !config.HasPassword(value) {
			settings[v.Name] = value
		}
	}
	return writeJSON(filepath.Join(dataDir, settingsFile), settings)
}

// writeJSON writes a file that its owner alone reads.
func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// demoDefaults returns the settings of the demo in this directory and its secret key, so that commands work beside
// it: agegate doctor, agegate user setup-link. It returns nil if there is none, or if a database or a key is named.
func (c *cli) demoDefaults() map[string]string {
	_, database := c.given(config.DatabaseURLName)
	_, key := c.given(config.SecretKeyName)
	if database || key {
		return nil
	}
	var settings map[string]string
	data, err := os.ReadFile(filepath.Join(defaultData, settingsFile))
	if err != nil || json.Unmarshal(data, &settings) != nil {
		return nil
	}
	if settings[config.SecretKeyName], err = demoSecretKey(defaultData); err != nil {
		return nil
	}
	return settings
}

// demoSecretKey returns the key stored in the data directory, and creates it the first time.
func demoSecretKey(dataDir string) (string, error) {
	path := filepath.Join(dataDir, secretKeyFile)
	key, err := os.ReadFile(path) //nolint:gosec // the operator's own data directory
	if err == nil {
		if raw, err := base64.StdEncoding.DecodeString(string(key)); err != nil || len(raw) != 32 {
			return "", fmt.Errorf("%s is damaged; restore it, or remove the directory %s to start afresh", path, dataDir)
		}
		return string(key), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dataDir, databaseFile)); err == nil {
		return "", fmt.Errorf("%s has a database but not its %s; restore it, or remove the directory to start afresh",
			dataDir, secretKeyFile)
	}
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	made := base64.StdEncoding.EncodeToString(raw)
	return made, os.WriteFile(path, []byte(made), 0o600)
}

func runDemo(ctx context.Context, cfg config.Config, dataDir, shopListen string, stdout, stderr io.Writer) (err error) {
	if cfg.Role != config.RoleAll {
		return errors.New("AGEGATE_ROLE must be all for the demo")
	}
	listener, err := net.Listen("tcp", shopListen)
	if err != nil {
		return fmt.Errorf("the sample shop needs another address, such as %s=localhost:8082: %w", shopListenName, err)
	}
	defer func() { _ = listener.Close() }() // closed already once it has served
	if strings.HasSuffix(shopListen, ":0") {
		shopListen = listener.Addr().String() // any free port
	}
	cfg.SampleShop = "http://" + shopListen
	if strings.HasPrefix(shopListen, ":") {
		cfg.SampleShop = "http://localhost" + shopListen
	}
	gateway, err := app.New(ctx, cfg, newLogger(stderr, cfg), now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gateway.Close()) }()
	kept := &keptShop{path: filepath.Join(dataDir, credentialsFile)}
	if err := kept.open(ctx, gateway.Tenants, cfg.SampleShop); err != nil {
		return err
	}
	shop, err := demo.New(cfg.BaseURL, cfg.VerifyURL, kept.Credentials, now)
	if err != nil {
		return err
	}
	shop.URL = cfg.SampleShop
	server := &http.Server{Handler: shop.Handler(), ReadHeaderTimeout: 3 * time.Second, ReadTimeout: 5 * time.Second,
		WriteTimeout: 20 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	caller, err := gateway.Tenants.Authenticate(ctx, kept.APIKey)
	if err != nil {
		return err
	}
	urls := "" // where the dashboard sets the callback URLs
	if cfg.Dashboard && cfg.CheckDashboard() == nil {
		at := cfg.DashboardURL + "/dashboard/" + caller.TenantID.String()
		shop.SessionsURL, urls = at+"/test/sessions", at+"/settings/urls"
	}
	if err := printSetup(ctx, cfg, gateway.Accounts, &caller.TenantID, stdout, true); err != nil {
		return err
	}
	printDemo(stdout, cfg, kept, urls)

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return gateway.Run(ctx) })
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})
	return group.Wait()
}

// keptShop is the file in which the demo keeps its shop.
type keptShop struct {
	path string
	demo.Credentials
	ShopURL string `json:"shop_url"`
}

// open reads the file. It creates a tenant on the first run, and another when the
// shop's address or the database has changed. The tenant gets no live key, because a
// key is shown only once: an owner makes one in the dashboard when the shop goes live.
func (k *keptShop) open(ctx context.Context, tenants *tenant.Service, shopURL string) error {
	data, err := os.ReadFile(k.path)
	if err == nil {
		if err := json.Unmarshal(data, k); err != nil {
			return fmt.Errorf("%s is damaged; remove it to make a new demo tenant", k.path)
		}
		_, err := tenants.Authenticate(ctx, k.APIKey)
		if k.ShopURL == shopURL && fault.CodeOf(err) != fault.InvalidKey {
			return err
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	created, err := tenants.CreateWithoutKeys(ctx, commandLine(), tenant.Tenant{
		Name: "Corner Cellar", SuccessURL: shopURL + "/thanks", CancelURL: shopURL + "/cancelled",
		WebhookURL: shopURL + "/webhook", DocumentCheck: true,
	})
	if err != nil {
		return err
	}
	_, key, err := tenants.CreateKey(ctx, commandLine(), created.Tenant.ID, false, "Sample shop")
	if err != nil {
		return err
	}
	k.Credentials = demo.Credentials{
		APIKey: key, WebhookSecret: created.Test.WebhookSecret, RedirectSecret: created.Test.RedirectSecret,
	}
	k.ShopURL = shopURL
	return writeJSON(k.path, k)
}

func printDemo(w io.Writer, cfg config.Config, kept *keptShop, urls string) {
	fmt.Fprintf(w, "\nagegate is running.\n\n  Sample shop     %s    open this: buy, verify\n", kept.ShopURL)
	if urls != "" {
		fmt.Fprintf(w, "  Dashboard       %s/dashboard\n", cfg.DashboardURL)
	}
	fmt.Fprintf(w, `  Documentation   %[1]s/docs

Create a session in another terminal, and open the answer's verification_url:

  export AGEGATE_URL=%[1]s
  export AGEGATE_API_KEY=%[2]s
  curl -sS "$AGEGATE_URL/api/v1/sessions/create" \
    -H "X-API-Key: $AGEGATE_API_KEY" -H "Content-Type: application/json" \
    -H "Idempotency-Key: $(openssl rand -hex 16)" -d '{"target_age": 18}'

%[1]s/docs/integrate goes on from there. Your own shop, as in
%[1]s/docs/clients, works only instead of the sample shop:
set its URLs, and use:

  # its URLs: %[5]s
  export AGEGATE_REDIRECT_SECRET=%[3]s
  export AGEGATE_WEBHOOK_SECRET=%[4]s
  export SHOP_URL=http://localhost:3000 PORT=3000

Ctrl-C stops both. AGEGATE_LOG_LEVEL=info writes a log line for each request.

`, cfg.BaseURL, kept.APIKey, kept.RedirectSecret, kept.WebhookSecret, urls)
}
