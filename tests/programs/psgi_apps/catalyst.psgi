# A Catalyst application, its classes in lib/.
use lib __FILE__ =~ s{[^/]*\z}{lib}r;
use Shop;
Shop->psgi_app;
