<?php
// Makes the site a network, and adds a site /two/ with a gated post. Run twice: before and after wp-config.php says it.
$site = getenv("SITE");
$_SERVER["HTTP_HOST"] = $host = substr($site, strlen("http://"));
$_SERVER["REQUEST_URI"] = "/";
require getenv("DIR") . "/wp-load.php";
require_once ABSPATH . "wp-admin/includes/upgrade.php";
require_once ABSPATH . "wp-admin/includes/plugin.php";
if (!is_multisite()) {
    foreach ($wpdb->tables("ms_global") as $name => $table) {
        $wpdb->$name = $table;
    }
    install_network();
    populate_network(1, $host, "admin@example.invalid", "Network", "/", false);
    exit;
}
$two = wpmu_create_blog($host, "/two/", "Two", 1);
$wpdb->update($wpdb->blogs, ["domain" => $host], ["blog_id" => $two]); // WordPress takes the port off
activate_plugin("agegate/agegate.php", "", true); // for the network
switch_to_blog($two);
update_option("home", "$site/two");
update_option("siteurl", "$site/two");
update_option("agegate", ["types" => ["post"]] + json_decode(getenv("SETTINGS"), true));
echo wp_insert_post(["post_title" => "Second", "post_content" => "A zanzibar text.", "post_status" => "publish"]);
