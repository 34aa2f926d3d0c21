// One network: the database has no address outside of it. Search, models and vault have one, and take no keys.
param location string
param tags object
param token string
param addresses string = '10.41.0.0/16'
param applicationAddresses string = '10.41.0.0/23'
param databaseAddresses string = '10.41.4.0/28'

resource network 'Microsoft.Network/virtualNetworks@2024-01-01' = {
  name: 'vnet-frontdesk-${token}'
  location: location
  tags: tags
  properties: {
    addressSpace: { addressPrefixes: [addresses] }
    subnets: [
      {
        name: 'application'
        properties: {
          addressPrefix: applicationAddresses
          serviceEndpoints: [{ service: 'Microsoft.Storage' }]
          delegations: [
            { name: 'container-apps', properties: { serviceName: 'Microsoft.App/environments' } }
          ]
        }
      }
      {
        name: 'database'
        properties: {
          addressPrefix: databaseAddresses
          delegations: [
            {
              name: 'postgresql'
              properties: { serviceName: 'Microsoft.DBforPostgreSQL/flexibleServers' }
            }
          ]
        }
      }
    ]
  }
}

resource zone 'Microsoft.Network/privateDnsZones@2020-06-01' = {
  name: 'frontdesk-${token}.private.postgres.database.azure.com'
  location: 'global'
  tags: tags
}

resource link 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2020-06-01' = {
  parent: zone
  name: 'frontdesk'
  location: 'global'
  tags: tags
  properties: {
    registrationEnabled: false
    virtualNetwork: { id: network.id }
  }
}

output applicationSubnetId string = network.properties.subnets[0].id
output databaseSubnetId string = network.properties.subnets[1].id
output databaseZoneId string = zone.id
