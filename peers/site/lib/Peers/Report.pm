# Makes the heavier page: about a millisecond of the Perl that real sites run. It reads a form
# field, queries SQLite with a prepared statement, and builds an HTML page with every value escaped.
# The scripts, the handler and the PSGI application all call page(), so each server does the same
# work.
package Peers::Report;
use strict;
use warnings;
use CGI ();
use DBI ();
use POSIX ();

my @CITIES = qw(Kairouan Ghardaia Tombouctou Agadez Nouakchott Tozeur Tamanrasset Ghadames);

# Returns the page for a query string such as "city=Agadez". The connection to the database stays
# open as long as the process runs.
sub page {
    my ($query_string) = @_;
    my $form = CGI->new($query_string // '');
    my $city = $form->param('city') || 'Agadez';
    my $rows = database()->selectall_arrayref(ROWS_OF_A_CITY(), {Slice => {}}, $city);
    my ($camels, $loads) = (0, 0);
    my $table = '';
    for my $row (@$rows) {
        $camels += $row->{camels};
        $loads  += $row->{load_kg};
        $table .= join '', '<tr>', (map { '<td>' . CGI::escapeHTML($_) . '</td>' } @{$row}{qw(leader camels load_kg)},
            POSIX::strftime('%d %B %Y', gmtime $row->{arrived})), "</tr>\n";
    }
    my $title = CGI::escapeHTML("Caravans of $city");
    return "<!doctype html>\n<html><head><title>$title</title></head><body>\n<h1>$title</h1>\n"
        . "<table>\n<tr><th>Leader</th><th>Camels</th><th>Load</th><th>Arrived</th></tr>\n$table</table>\n"
        . sprintf("<p>%d caravans, %d camels, %.1f t</p>\n</body></html>\n", scalar @$rows, $camels, $loads / 1000);
}

sub ROWS_OF_A_CITY { 'SELECT leader, camels, load_kg, arrived FROM caravan WHERE city = ? ORDER BY arrived, leader LIMIT 80' }

sub database {
    return DBI->connect_cached("dbi:SQLite:dbname=$ENV{PEERS_DATABASE}", '', '', {RaiseError => 1, PrintError => 0});
}

# Fills the file that PEERS_DATABASE names, always with the same rows.
sub create_database {
    my $database = database();
    $database->do('CREATE TABLE caravan (city TEXT, leader TEXT, camels INTEGER, load_kg INTEGER, arrived INTEGER)');
    $database->begin_work;
    my $insert = $database->prepare('INSERT INTO caravan VALUES (?, ?, ?, ?, ?)');
    for my $number (0 .. 799) {
        $insert->execute($CITIES[$number % @CITIES], "Leader <$number> & sons", 3 + $number * 7 % 40,
            150 + $number * 13 % 900, 946_684_800 + $number * 86_400);
    }
    $database->commit;
    $database->do('CREATE INDEX caravan_of_city ON caravan (city, arrived)');
    $database->disconnect;
    return;
}

1;
